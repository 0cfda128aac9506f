"""Cells of a file as values of parameters, and back."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.laboratory.dialect import number_in
from compbo.space import Bool, Float, Int

if TYPE_CHECKING:
    from compbo.space import Parameter

TRUE = (
    "true",
    "yes",
    "y",
    "x",
    "1",
    "wahr",
    "ja",
    "vrai",
    "oui",
    "verdadero",
    "vero",
)  # as spreadsheets and people write
FALSE = ("false", "no", "n", "0", "falsch", "nein", "faux", "non", "falso")
FAILED_WORDS = ("failed", "fail", "nan")  # in the place of a value


class Style(NamedTuple):
    """How numbers are written in a file."""

    commas: bool = False  # a decimal comma is possible
    commas_seen: bool = False  # the file has decimal commas

    def number(self, cell: Any) -> float:
        """The number in a cell; ValueError if there is none."""
        if isinstance(cell, str):
            return number_in(cell, commas=self.commas, commas_seen=self.commas_seen)
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            raise ValueError(f"{cell!r} is not a number")
        return float(cell)

    def half_a_digit(self, cell: Any) -> float:
        """Half a unit of the last digit written: how far the number may be from the one that was meant."""
        if not isinstance(cell, str):
            return 0.0
        try:
            written = Decimal(cell.replace(",", "."))
        except InvalidOperation:
            return 0.0
        exponent = written.as_tuple().exponent
        return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0


def parameter_value(parameter: Parameter, cell: Any, style: Style) -> Any:
    """The value of a parameter that a cell says; ValueError if it says none that the parameter takes."""
    if isinstance(parameter, Float):
        return parameter.validate(style.number(cell))
    if isinstance(parameter, Int):
        number = style.number(cell)
        return parameter.validate(int(number) if math.isfinite(number) and number == int(number) else number)
    if isinstance(parameter, Bool):
        return parameter.validate(yes_or_no(cell))
    return _listed_value(parameter, cell, style)


def _listed_value(parameter: Parameter, cell: Any, style: Style) -> Any:
    """Of a list of choices the one that is written like the cell."""
    if not isinstance(cell, str):
        return parameter.validate(cell)
    for level in parameter.levels or ():
        if isinstance(level, str) and level == cell:
            return level
    for level in parameter.levels or ():
        if not isinstance(level, str) and _is_written(level, cell, style):
            return level
    return parameter.validate(cell)  # which it is not: the error lists what there is


def _is_written(level: Any, text: str, style: Style) -> bool:
    if level is None:
        return text.lower() == "none"
    try:
        return yes_or_no(text) == level if isinstance(level, bool) else style.number(text) == level
    except ValueError:
        return False


def yes_or_no(cell: Any) -> bool:
    """Whether a cell says yes; ValueError if it says neither yes nor no."""
    if isinstance(cell, bool):
        return cell
    word = str(cell).lower()
    if word in TRUE or word in FALSE:
        return word in TRUE
    raise ValueError(f"{cell!r} is neither yes nor no (write true or false)")


def written(value: Any, *, commas: bool = False) -> str:
    """A value as a cell of CSV: numbers with all their digits, None as that word; commas: decimal ones."""
    text = str(value)
    return text.replace(".", ",") if commas and isinstance(value, float) else text
