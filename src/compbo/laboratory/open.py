"""Open a stored run for a moment: the one that is there, or a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compbo.bo.settings import Settings
from compbo.errors import OptionError
from compbo.storage import StoredRun, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compbo.space import Space

NEW_NAME = "compbo"  # of a run whose name nobody said


def run_opener(
    source: str, study_name: str | None, space: Space | None, options: Mapping[str, Any]
) -> Callable[[], StoredRun]:
    """A function that opens the run, and makes it if it is not there.

    Args:
        source: a file or a storage URL.
        study_name: of the run; None: the only one, or the usual name for a new one.
        space: of a new run. Of a run that is there, it must be the same if it is given.
        options: fields of `Settings`; what is None was not said. For a run that is there they must be the same, too.
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
        settings = Settings(**given)
        return lambda: StoredRun.open(source, study_name or NEW_NAME, space, settings, brief=True)
    if "maximizer" in given:
        given["hyperparameters"] = {}
    same = there.space if space is None else space
    wanted = replace(there.settings, **given)
    return lambda: StoredRun.open(source, there.name, same, wanted, brief=True)
