"""One evaluation of the objective: a number, or the reason why there is none.

Worker processes import this file, so it imports nothing heavy.
"""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.inputs import one_element, real

if TYPE_CHECKING:
    from collections.abc import Callable

    Objective = Callable[[dict[str, Any]], Any]

LONGEST_VALUE = 120  # characters of a returned value that a message shows
LONGEST_TRACEBACK = 10_000  # characters; of a longer one the end, which says most
PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Outcome:
    """What an evaluation ended with: a finite value, or None and the reason.

    Attributes:
        value: what the objective returned; None if it failed.
        message: why it failed, in a line.
        traceback: where it failed, in the user's own code, or the end of what a program wrote to standard error.
        seconds: how long it took; None where it was not measured.
    """

    value: float | None
    message: str = ""
    traceback: str = field(default="", compare=False, repr=False)
    seconds: float | None = field(default=None, compare=False, repr=False)


class Evaluation(NamedTuple):
    """One evaluated point, as `Optimizer.evaluations` lists them.

    Args:
        params: the point, a dictionary of parameter values.
        value: what the objective returned; None if the evaluation failed.
        message: why it failed, or what was told beside the value.
        number: of the trial; None only before it is part of a history.
        suggested: the point that was suggested, where another one was evaluated in its place.

    >>> Evaluation({"x": 0.5}, None, "out of memory").failed
    True
    """

    params: dict[str, Any]
    value: float | None
    message: str = ""
    number: int | None = None
    suggested: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """Whether there is no value."""
        return self.value is None


def evaluate(objective: Objective, params: dict[str, Any], number: int = 0) -> Outcome:  # noqa: ARG001
    """The outcome at a point; an exception, or a result that is not a finite number, is a failure.

    Args:
        objective: the user's function. It gets a copy of the point, which it may change.
        params: the point.
        number: of the evaluation. It is not used, but a scheduler that recognises equal calls (Dask) must not take two
            evaluations of one point for the same call.

    >>> evaluate(lambda p: 1 / p["x"], {"x": 0})
    Outcome(value=None, message='ZeroDivisionError: division by zero')
    """
    begin = time.perf_counter()
    try:
        outcome = as_outcome(objective(dict(params)))
    except (Exception, SystemExit) as error:  # recorded with its message
        outcome = Outcome(None, describe(error), users_traceback(error))
    return replace(outcome, seconds=time.perf_counter() - begin)


def as_outcome(value: Any) -> Outcome:
    """What an objective returned, as a finite number or as the reason why it is none.

    >>> as_outcome([1, 2])
    Outcome(value=None, message='returned [1, 2] of type list, not a number')
    """
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


def told_evaluation(params: dict[str, Any], number: int | None, value: Any, message: str) -> Evaluation:
    """The evaluation that a user tells: params, its value, and a message about a failure.

    A value of None, NaN or infinity is a failure; ValueError for anything that is not a number.
    """
    if value is None:
        return Evaluation(params, None, message or "no value", number)
    try:
        value = one_element(value)
        told = None if isinstance(value, str | bytes) else float(value) + 0.0  # no -0.0, as in every storage
    except (TypeError, ValueError):
        told = None
    except OverflowError:  # a whole number or fraction beyond all floats
        told = math.inf if value > 0 else -math.inf
    if told is None:
        raise ValueError(f"tell: {value!r} is not a number (None or NaN marks a failed evaluation).")
    if not math.isfinite(told):
        return Evaluation(params, None, message or f"the value was {told}", number)
    return Evaluation(params, told, message, number)


def saved_value(value: Any) -> float | None:
    """A value that was saved: a finite number or None."""
    if value is not None and not math.isfinite(real(value)):
        raise ValueError(f"{value!r} is not the value of an evaluation")
    return None if value is None else real(value)


def describe(error: BaseException) -> str:
    r"""The type and the first line of an error.

    >>> describe(RuntimeError("no disk\nsecond line"))
    'RuntimeError: no disk'
    """
    lines = _text(str, error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def users_traceback(error: BaseException) -> str:
    """The traceback of an error without the frames of this package that stand before the user's own."""
    frames = error.__traceback__
    while frames is not None and Path(frames.tb_frame.f_code.co_filename).is_relative_to(PACKAGE):
        frames = frames.tb_next
    return last_part("".join(traceback.format_exception(type(error), error, frames)))


def last_part(text: str) -> str:
    """The end of a long text, from the beginning of a line on."""
    if len(text) <= LONGEST_TRACEBACK:
        return text
    return "...\n" + text[-LONGEST_TRACEBACK:].partition("\n")[2]


def _short(value: Any) -> str:
    text = "None" if value is None else f"{_text(repr, value)} of type {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"a value of type {type(value).__name__}"


def _text(render: Callable[[Any], str], value: Any) -> str:
    """str or repr of an object of the user's; where that raises in turn, a note that it did."""
    try:
        return render(value)
    except Exception as error:
        return f"({type(error).__name__} while its text was made)"
