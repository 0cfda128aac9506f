"""What a stored run is: its direction, space and settings, and whether a later call means the same run."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.backend import TORCH, chosen_backend
from compbo.errors import OptionError
from compbo.storage.connect import quiet_optuna
from compbo.threads import allowed_threads
from compbo.versions import VERSION as COMPBO_VERSION

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from compbo.bo.settings import Settings
    from compbo.space import Space

SPACE, SETTINGS, VERSION = "compbo:space", "compbo:settings", "compbo:version"
THREADS, BACKEND = "compbo:threads", "compbo:backend"
LONGEST_TEXT = 2000  # characters of an attribute; some databases cut off at 2048

log = logging.getLogger(__name__)


def pack(key: str, data: Any) -> dict[str, str]:
    """Data as JSON text in pieces: attributes key:0, key:1, ..."""
    text = json.dumps(data, separators=(",", ":"))
    starts = range(0, len(text), LONGEST_TEXT)
    return {f"{key}:{i}": text[start : start + LONGEST_TEXT] for i, start in enumerate(starts)}


def unpack(key: str, attributes: dict[str, Any]) -> Any:
    """What `pack` wrote under `key` among the attributes; None if there is nothing."""
    pieces: list[str] = []
    while (piece := attributes.get(f"{key}:{len(pieces)}")) is not None:
        pieces.append(piece)
    return json.loads("".join(pieces)) if pieces else None


def find_or_create(storage: BaseStorage, name: str, direction: str) -> int:
    """The id of the study of that name in the storage, new if there is none.

    ValueError if it goes in another direction.
    """
    from optuna.exceptions import DuplicatedStudyError
    from optuna.study import StudyDirection

    try:
        study_id = storage.get_study_id_from_name(name)
    except KeyError:
        with quiet_optuna():
            try:
                return storage.create_new_study([StudyDirection[direction.upper()]], name)
            except DuplicatedStudyError:  # by another process, just now
                study_id = storage.get_study_id_from_name(name)
    stored = [d.name.lower() for d in storage.get_study_directions(study_id)]
    if stored != [direction]:
        raise OptionError(
            "study_name",
            'Study "{name}" is there with direction {stored}, this run would {direction}: choose another {option}.',
            name=name,
            stored=" and ".join(stored),
            direction=direction,
        )
    return study_id


def check(storage: BaseStorage, study_id: int, name: str, space: Space, settings: Settings) -> None:
    """ValueError, and nothing changed, if the study is neither this run's nor a new one.

    storage, study_id, name: the study. space, settings: of this run.
    """
    attributes = storage.get_study_system_attrs(study_id)
    if VERSION in attributes:
        _check_same(name, attributes, space, settings)
    elif storage.get_n_trials(study_id) > 0:
        raise OptionError(
            "study_name", 'Study "{name}" was not written by compbo: choose another {option} for this run.', name=name
        )


def sign(storage: BaseStorage, study_id: int, name: str, space: Space, settings: Settings) -> None:
    """Write space and settings into a new study; in one that is there, check that they are the same.

    storage, study_id, name: the study.
    """
    check(storage, study_id, name, space, settings)
    attributes = storage.get_study_system_attrs(study_id)
    if VERSION in attributes:
        if attributes.get(THREADS) != allowed_threads():
            log.warning(
                "This run was begun with %s threads and goes on with %d: suggestions may differ in their last "
                "bits from those of an uninterrupted run (COMPBO_THREADS sets the number).",
                *(attributes.get(THREADS), allowed_threads()),
            )
        backend = attributes.get(BACKEND, TORCH)  # the only one, before it was written down
        if backend != chosen_backend():
            log.warning(
                "This run was begun with the backend %s and goes on with %s: suggestions may differ from those of an "
                "uninterrupted run (COMPBO_BACKEND=%s goes on as it was begun).",
                *(backend, chosen_backend(), backend),
            )
        return
    packed: dict[str, Any] = {**pack(SPACE, space.to_dict()), **pack(SETTINGS, settings.to_dict())}
    packed |= {THREADS: allowed_threads(), BACKEND: chosen_backend(), VERSION: COMPBO_VERSION}
    for key, value in packed.items():  # the version last: it says that the rest is there
        storage.set_study_system_attr(study_id, key, value)


class Difference(NamedTuple):
    """Something that a stored run and this one do not share."""

    path: str  # where: `seed`, `budget.steps`
    stored: Any  # its value in the storage
    given: Any  # its value now

    @property
    def both(self) -> str:
        """The two values, in words."""
        return f"(stored {self.stored!r}, given {self.given!r})"


def _check_same(name: str, attributes: dict[str, Any], space: Space, settings: Settings) -> None:
    """OptionError that names what a run and the stored one do not share."""
    fields, values = [], {}
    stored, given = settings.as_now(unpack(SETTINGS, attributes)), json.loads(json.dumps(settings.to_dict()))
    found = _differences(settings.as_given(stored), settings.as_given(given))
    for number, difference in enumerate(found):
        option, dot, rest = difference.path.partition(".")
        fields.append(f"{{{option}}}{{rest{number}}}")
        values[f"rest{number}"] = f"{dot}{rest} {difference.both}"
    parameters = _differing_parameters(unpack(SPACE, attributes), json.loads(json.dumps(space.to_dict())))
    if parameters:
        fields.append("{parameters}")
        values["parameters"] = parameters
    if fields:
        raise OptionError(
            "study_name",
            'Study "{name}" was begun differently: '
            + "; ".join(fields)
            + ". Give the same to resume it, or choose another {option} to begin anew.",
            name=name,
            **values,
        )


def _differing_parameters(stored: dict[str, Any], given: dict[str, Any]) -> str:
    if list(stored) != list(given):
        return f"the parameters (stored {', '.join(stored)}; given {', '.join(given)})"
    return "; ".join(f"{difference.path} {difference.both}" for difference in _differences(stored, given))


def _differences(stored: dict[str, Any], given: dict[str, Any], prefix: str = "") -> list[Difference]:
    found: list[Difference] = []
    for key in dict.fromkeys([*stored, *given]):
        old, new = stored.get(key), given.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            kind = next((word for word in ("name", "type") if old.get(word) != new.get(word)), None)
            if kind is not None:  # of another kind: its numbers are others anyway
                found.append(Difference(f"{prefix}{key}", old.get(kind), new.get(kind)))
            else:
                found += _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            found.append(Difference(f"{prefix}{key}", old, new))
    return found
