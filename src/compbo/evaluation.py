"""One evaluation of the objective, wherever it runs: a number, or the reason why there is none.

Worker processes import this file, so it imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.checks import real

if TYPE_CHECKING:
    from collections.abc import Callable

    Objective = Callable[[dict[str, Any]], Any]


class Outcome(NamedTuple):
    """The value, or None and why."""

    value: float | None
    message: str = ""


class Evaluation(NamedTuple):
    """One evaluated point; value is None where the evaluation failed, and message says why."""

    params: dict[str, Any]
    value: float | None
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no value."""
        return self.value is None


def call(objective: Objective, params: dict[str, Any], number: int = 0) -> Outcome:  # noqa: ARG001
    """The objective at a point; whatever it raises or returns instead of a finite number is a failure with a message.

    number: of the evaluation, so that no scheduler takes two evaluations of one point for the same task.
    """
    try:
        value = objective(dict(params))
    except (Exception, SystemExit) as error:  # recorded with its message
        return Outcome(None, describe(error))
    return as_outcome(value)


def as_outcome(value: Any) -> Outcome:
    """A returned value as a finite number, or the reason why it is none."""
    if isinstance(value, Outcome):
        return value
    try:
        value = one_element(value)
    except ValueError as error:
        return Outcome(None, f"returned {error}")
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        return Outcome(None, f"returned {_short(value)}, not a number")
    try:
        number = float(value) + 0.0  # no -0.0: databases do not keep its sign
    except Exception as error:  # recorded: the returned object is the user's, and so is what its __float__ raises
        return Outcome(None, f"returned {_short(value)}, not a number ({describe(error)})")
    return Outcome(number) if math.isfinite(number) else Outcome(None, f"returned {number}")


def one_element(value: Any) -> Any:
    """What an array or tensor of one element holds, anything else as it is; ValueError if it holds more or nothing."""
    if not hasattr(value, "shape") or not callable(getattr(value, "item", None)):
        return value
    try:
        return value.item()
    except Exception as error:  # of every library its own: there is not one element
        raise ValueError(f"{type(value).__name__} of shape {tuple(value.shape)}, not one number") from error


def told_evaluation(params: dict[str, Any], value: Any, message: str) -> Evaluation:
    """What a user tells of a point: a number, or None, NaN or infinity for a failure; ValueError for anything else."""
    if value is None:
        return Evaluation(params, None, message or "no value")
    try:
        value = one_element(value)
        number = None if isinstance(value, str | bytes) else float(value) + 0.0  # no -0.0, as in every storage
    except (TypeError, ValueError):
        number = None
    except OverflowError:  # a whole number or fraction beyond all floats
        number = math.inf if value > 0 else -math.inf
    if number is None:
        raise ValueError(f"tell: {value!r} is not a number (None or NaN marks a failed evaluation).")
    if not math.isfinite(number):
        return Evaluation(params, None, message or f"the value was {number}")
    return Evaluation(params, number, message)


def saved_value(value: Any) -> float | None:
    """A value that was saved: a finite number or None."""
    if value is not None and not math.isfinite(real(value)):
        raise ValueError(f"{value!r} is not the value of an evaluation")
    return None if value is None else real(value)


def describe(error: BaseException) -> str:
    """Type and first line of an exception."""
    lines = _text(str, error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _short(value: Any) -> str:
    text = "None" if value is None else f"{_text(repr, value)} of type {type(value).__name__}"
    return text if len(text) <= 120 else f"a value of type {type(value).__name__}"


def _text(render: Callable[[Any], str], value: Any) -> str:
    """str or repr of something of the user's, which may raise in turn: then the reason why there is none."""
    try:
        return render(value)
    except Exception as error:
        return f"({type(error).__name__} while its text was made)"


# In a worker process ------------------------------------------------------------------------------------------------

_installed: list[Objective] = []  # the objective of this worker, sent once


def prepare_worker() -> None:
    """Leave Ctrl-C, which reaches every process of the terminal, to the parent; end when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def install(payload: bytes) -> tuple[int, str]:
    """Unpickle the objective in this worker: the worker's process id, and why it could not be done ("" if it could)."""
    with contextlib.suppress(IndexError):
        _installed.pop()
    try:
        _installed.append(pickle.loads(payload))
    except Exception as error:  # reported to the parent
        return os.getpid(), describe(error)
    return os.getpid(), ""


def call_installed(params: dict[str, Any]) -> Outcome:
    """`call` of the objective that was installed."""
    return call(_installed[0], params)
