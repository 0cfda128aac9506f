"""An objective on its way to another process: as bytes, of functions without a module (a notebook's) by value."""

from __future__ import annotations

import builtins
import contextlib
import pickle
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from compbo.evaluation import Outcome, describe, evaluate

if TYPE_CHECKING:
    from compbo.evaluation import Objective

ANOTHER_WAY = "all that it uses must be what cloudpickle can copy; or pass executor=ThreadPoolExecutor(...)"


class NotLoadedError(RuntimeError):
    """A worker got the objective and could not put it together; the message is the reason."""


@dataclass(frozen=True)
class SentObjective:
    """The bytes of an objective; the process that evaluates puts it together, once.

    Args:
        payload: what `pickled` returned.
    """

    payload: bytes

    def load(self) -> Objective:
        """The objective; NotLoadedError if this process does not have what it needs."""
        return _loaded(self.payload)


@lru_cache(maxsize=8)
def _loaded(payload: bytes) -> Objective:
    try:
        return pickle.loads(payload)  # type: ignore[no-any-return]
    except Exception as error:  # loading runs the user's code, which may raise anything
        raise NotLoadedError(describe(error)) from error


def evaluate_sent(objective: SentObjective, params: dict[str, Any], number: int) -> Outcome:
    """`evaluate`, in a process that got the objective as bytes.

    Args:
        objective: the bytes.
        params: the point.
        number: of the evaluation.

    Returns:
        The outcome; NotLoadedError if the objective cannot be put together here.
    """
    return evaluate(objective.load(), params, number)


def pickled(objective: Objective, *, by_value: bool | None = None) -> bytes:
    """The objective as bytes for another process; ValueError, with what to do, if it cannot be copied.

    Args:
        objective: the function.
        by_value: whether functions of `__main__` are sent whole, with the globals that they use, instead of by name;
            None: only where new processes could not import `__main__`, as in a notebook. What cannot be sent by name
            (a lambda, a function inside a function) always goes whole.

    Returns:
        What `pickle.loads` takes.
    """
    import cloudpickle

    if not (by_value or (by_value is None and not _main_is_a_file())):
        with contextlib.suppress(Exception):  # cloudpickle copies more, and says what it cannot
            return pickle.dumps(objective)
    try:
        payload: bytes = cloudpickle.dumps(objective)
    except Exception as error:  # pickling runs the user's code, which may raise anything
        raise not_sent(objective, "worker processes", error) from error
    return payload


def not_sent(objective: Any, receivers: str, error: BaseException) -> ValueError:
    """The error for an objective that does not reach the workers.

    Args:
        objective: the function.
        receivers: where it was to go.
        error: what came of it.

    Returns:
        The error, with the way out.
    """
    name = getattr(objective, "__qualname__", repr(objective))
    return ValueError(f"The objective {name} cannot be sent to {receivers} ({describe(error)}): {ANOTHER_WAY}.")


def not_loaded(place: str, reason: object) -> ValueError:
    """The error for an objective that workers get but cannot load.

    Args:
        place: which workers.
        reason: why they cannot.

    Returns:
        The error, with what to do.
    """
    return ValueError(
        f"The objective cannot be loaded in {place} ({reason}): what it imports must be installed, or lie on the "
        "PYTHONPATH, where the evaluations run."
    )


def _main_is_a_file() -> bool:
    """Whether a new process imports the same `__main__`: not that of a notebook, of `python -c` or of a prompt."""
    main = sys.modules["__main__"]
    known = getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")
    return known and not hasattr(builtins, "__IPYTHON__")
