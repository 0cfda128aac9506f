"""Open a stored run for a moment: the one that is there, or a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from compbo.bo.settings import Settings
from compbo.errors import OptionError, TakenOverError
from compbo.storage import StoredRun, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compbo.space import Space

NEW_NAME = "compbo"  # of a run that was given no name
ATTEMPTS = 5  # in case that others take the run at the very same time

T = TypeVar("T")


def with_run(open_run: Callable[[], StoredRun], action: Callable[[StoredRun], T]) -> T:
    """The result of an action on a run that is open for this process alone; should another take it, it is done again.

    open_run: opens the run.

    action: what was done before it was interrupted, it must not do twice.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            with open_run() as run:
                return action(run)
        except TakenOverError:
            continue
    with open_run() as run:
        return action(run)


class RunPlace(NamedTuple):
    """Where a run is or will be (source, and its name there), and what it is or will be begun with."""

    source: str
    name: str
    space: Space
    settings: Settings

    def open(self) -> StoredRun:
        """The run, for this process alone and for a moment; it is made if it is not there."""
        return StoredRun.open(self.source, self.name, self.space, self.settings, brief=True)


def find_run(
    source: str, study_name: str | None, space: Space | None, options: Mapping[str, Any], batch_size: int = 1
) -> RunPlace:
    """The run that is there, or the one to be made; nothing is written.

    Args:
        source: a file or a storage URL.
        study_name: of the run; None: the only one, or the usual name for a new one.
        space: of a new run. Of a run that is there, it must be the same if it is given.
        options: fields of `Settings`; what is None was not said. For a run that is there they must be the same, too.
        batch_size: of a new run: how many points people usually measure together.
    """
    given = {name: value for name, value in options.items() if value is not None}
    there = signature_of(source, study_name)
    if there is None:
        if space is None:
            raise OptionError(
                "space",
                "{option} is missing: {source} is a new run, so say which parameters it has (a TOML file).",
                source=source,
            )
        return RunPlace(source, study_name or NEW_NAME, space, Settings(batch_size=batch_size, **given))
    if "maximizer" in given:
        given["hyperparameters"] = {}
    same = there.space if space is None else space
    return RunPlace(source, there.name, same, replace(there.settings, **given))
