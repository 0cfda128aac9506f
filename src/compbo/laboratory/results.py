"""The rows of a sheet as results: what was measured, where, and every complaint about what cannot be read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.evaluation import saved_error
from compbo.laboratory.cells import FAILED_WORDS, parameter_value, yes_or_no
from compbo.laboratory.sheet import COMMENT, ERROR, FAILED, IGNORED, MESSAGE, NUMBER, STATE, VALUE, column_of
from compbo.records import FAIL, RUNNING
from compbo.words import counted, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compbo.laboratory.cells import Style
    from compbo.laboratory.sheet import Sheet
    from compbo.space import Space

MOST_COMPLAINTS = 12  # that are listed
NEAR = 0.75  # similarity from which on an unknown column is taken for a misspelt one


class Complaint(NamedTuple):
    """What is wrong with a line of a sheet; line 0: with the whole of it."""

    line: int
    text: str  # what is wrong
    remedy: str = ""  # the option that helps, if there is one: `replace` or `value`

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


class SheetError(ValueError):
    """Nothing of a sheet was taken, because some of its lines cannot be.

    Args:
        place: the file.
        complaints: what is wrong.
    """

    def __init__(self, place: object, complaints: Sequence[Complaint]) -> None:
        listed = sorted(complaints)
        shown = [f"  {complaint}" for complaint in listed[:MOST_COMPLAINTS]]
        if len(listed) > MOST_COMPLAINTS:
            shown.append(f"  and {len(listed) - MOST_COMPLAINTS} more")
        wrong = f"{counted(len(listed), 'thing')} {'is' if len(listed) == 1 else 'are'} wrong"
        super().__init__(f"{place}: nothing was taken, because {wrong} in it:\n" + "\n".join(shown))
        self.complaints = listed


class Filled(NamedTuple):
    """A row that was filled in: the parameters that it names, and its result, if there is one."""

    line: int  # in the file
    number: int | None  # of the pending point
    params: dict[str, Any]  # by name
    rounding: dict[str, float]  # by parameter, how far a number may be from the one that was meant
    value: float | None = None  # the result
    failed: bool = False  # whether it says so
    comment: str = ""  # of the user
    error: float | None = None  # standard deviation of the value

    @property
    def is_told(self) -> bool:
        """Whether it has a result."""
        return self.failed or self.value is not None


class Results(NamedTuple):
    """The rows of a sheet that can be read, its unused columns, and complaints about the others."""

    rows: list[Filled]
    unused: list[str]
    complaints: list[Complaint]

    @property
    def told(self) -> list[Filled]:
        """The rows that have a result."""
        return [row for row in self.rows if row.is_told]

    @property
    def empty(self) -> list[Filled]:
        """The rows that have none yet."""
        return [row for row in self.rows if not row.is_told]


def results_of(space: Space, sheet: Sheet, value_column: str | None = None) -> Results:
    """What the rows of a sheet say about points of the space.

    value_column: the column of the value, if it is not `value`.
    """
    value = value_column or VALUE
    complaints, unused = [], []
    if value not in sheet.columns and (value_column is not None or not {FAILED, STATE} & set(sheet.columns)):
        complaints.append(Complaint(0, f'there is no column "{value}"; there are {", ".join(sheet.columns)}', "value"))
    parameters = [column_of(name) for name in space.names]
    for column in sheet.columns:
        if column not in (*parameters, value, NUMBER, ERROR, FAILED, COMMENT, STATE, MESSAGE, *IGNORED):
            hint = did_you_mean(column, [*parameters, NUMBER, value, ERROR, FAILED, COMMENT], NEAR)
            if hint:
                complaints.append(Complaint(0, f'column "{column}" is not known: {hint} Rename it, or remove it'))
            else:
                unused.append(column)
    lines = [ResultLine(number, row, sheet.style, []) for number, row in sheet.rows]
    filled = [(line, _filled(space, line, value)) for line in lines]
    complaints += [complaint for line in lines for complaint in line.complaints]
    return Results([row for line, row in filled if not line.complaints], unused, complaints)


class ResultLine(NamedTuple):
    """One line of a sheet, and the list to which complaints about it are added."""

    number: int  # in the file
    cells: dict[str, Any]  # by the name of their column
    style: Style
    complaints: list[Complaint]

    def read(self, column: str, parse: Callable[[Any], Any]) -> Any:
        """What a cell says; None, and a complaint, if it cannot be understood, and None if it is empty."""
        cell = self.cells.get(column)
        if cell is None or cell == "":
            return None
        try:
            return parse(cell)
        except ValueError as error:
            self.complain(f"{column}: {error}")
            return None

    def complain(self, what: str) -> None:
        """Add a complaint about this line."""
        self.complaints.append(Complaint(self.number, what))


def _filled(space: Space, line: ResultLine, value_column: str) -> Filled:
    """A line as it was filled in."""
    params: dict[str, Any] = {}
    rounding: dict[str, float] = {}
    for name, parameter in space.parameters.items():
        column = column_of(name)
        cell = line.cells.get(column, "")
        if cell is None and None in (parameter.levels or ()):  # null in JSON
            params[name] = None
        before = len(line.complaints)
        value = line.read(column, lambda text, p=parameter: parameter_value(p, text, line.style))  # type: ignore[misc]
        if cell not in (None, "") and len(line.complaints) == before:
            params[name] = value
            rounding[name] = line.style.half_a_digit(cell)
    number = line.read(NUMBER, lambda cell: _whole(line.style.number(cell), cell))
    comment = line.cells.get(COMMENT) or line.cells.get(MESSAGE) or ""
    error = line.read(ERROR, lambda cell: saved_error(line.style.number(cell)))
    return Filled(line.number, number, params, rounding, *_result(line, value_column), str(comment), error)


def _result(line: ResultLine, value_column: str) -> tuple[float | None, bool]:
    """The value, and whether the evaluation failed; neither if it is not there yet."""
    state = str(line.cells.get(STATE) or "")
    value = line.read(value_column, lambda cell: _value(line.style.number, cell))
    failed = bool(line.read(FAILED, yes_or_no)) or state == FAIL
    if value is not None and math.isfinite(value) and failed:
        line.complain(f"it has a {value_column} and is marked as failed; delete one of them")
    if value is not None and not math.isfinite(value):
        value, failed = None, True
    return (None, False) if state == RUNNING else (value, failed)


def _value(number: Callable[[Any], float], cell: Any) -> float:
    """The value in a cell; NaN where it says that the evaluation failed."""
    if _says_failed(cell):
        return math.nan
    value = number(cell)
    if not math.isfinite(value):
        raise ValueError(f"{cell!r} is not finite; write failed where there is no value")
    return value


def _says_failed(cell: Any) -> bool:
    return isinstance(cell, str) and cell.lower() in FAILED_WORDS


def _whole(number: float, cell: Any) -> int:
    if not (math.isfinite(number) and number == int(number) and number >= 0):
        raise ValueError(f"{cell!r} is not the number of a trial")
    return int(number)
