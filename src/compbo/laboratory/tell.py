"""`compbo tell` and `compbo import`: results from a sheet into a stored run, all of them or none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.bo.history import point_key
from compbo.evaluation import Evaluation, Outcome
from compbo.laboratory.results import Complaint, SheetError
from compbo.space import Float

if TYPE_CHECKING:
    from compbo.bo.history import History
    from compbo.bo.numbered_point import NumberedPoint
    from compbo.laboratory.results import Filled, Results
    from compbo.space import Space
    from compbo.storage import StoredRun
    from compbo.storage.trials import Contents

CLOSE = 1e-9  # relative difference of two floats that are the same number
SIX_DIGITS = 5e-6  # half a unit of the sixth: spreadsheets keep that many, and people set fewer


class Told(NamedTuple):
    """What became of the rows of a sheet."""

    taken: list[Evaluation]  # new results
    replaced: dict[int, int]  # numbers of results that were corrected, and those of the corrections
    known: list[Filled]  # the run has exactly this result already


class ToldBeforeError(ValueError):
    """A trial has another result already."""


class _ToldSheet(NamedTuple):
    """What a row tells: a result for a pending trial, or one for a trial that was told before."""

    evaluation: Evaluation
    is_pending: bool


def tell_results(run: StoredRun, results: Results, place: object, *, replace: bool = False) -> Told:
    """What became of the results of pending points of a run; SheetError, and nothing stored, if one cannot be stored.

    place: the name of the sheet. replace: a result that was told before, with another value, is corrected.
    """
    contents = run.contents()
    complaints = list(results.complaints)
    told: dict[int, tuple[Filled, _ToldSheet]] = {}
    known: list[Filled] = []
    for row in results.told:
        try:
            found = _told(run.space, contents, row, replace=replace)
        except ValueError as error:
            remedy = "replace" if isinstance(error, ToldBeforeError) else ""
            complaints.append(Complaint(row.line, str(error).rstrip("."), remedy))
            continue
        number = -1 if found is None else found.evaluation.number or 0
        if found is None:
            known.append(row)
        elif number in told:
            complaints.append(Complaint(row.line, f"trial {number} is told twice, in line {told[number][0].line} too"))
        else:
            told[number] = row, found
    if complaints:
        raise SheetError(place, complaints)
    pending = {number: found.evaluation for number, (_, found) in told.items() if found.is_pending}
    for number, evaluation in pending.items():
        used = None if evaluation.suggested is None else evaluation.params
        run.finish(number, Outcome(evaluation.value, evaluation.message), used, evaluation.error)
    corrected = [found.evaluation for _, found in told.values() if not found.is_pending]
    numbers = run.add_evaluations(corrected)
    replaced = {e.number or 0: number for e, number in zip(corrected, numbers, strict=True)}
    return Told([found.evaluation for _, found in told.values()], replaced, known)


def _told(space: Space, contents: Contents, row: Filled, *, replace: bool) -> _ToldSheet | None:
    """The result that a row tells; None if the run has it already. ValueError if it is about no trial that takes it."""
    history = contents.history
    number = row.number if row.number is not None else _number_described(space, history, row)
    pending = history.pending_point(number)
    if pending is not None:
        params = space.validate({**pending, **_set_differently(space, row, pending)})
        suggested = dict(pending) if params != pending else None
        return _ToldSheet(Evaluation(params, row.value, _message(row), number, suggested, _error(row)), is_pending=True)
    now = contents.now(number)
    if history.pending_point(now) is not None:
        if row.failed:
            return None  # it had failed before it was asked for again
        raise ValueError(f"trial {number} failed, and is asked for again as trial {now}: tell it under that number")
    before = next((e for e in history.evaluations if e.number == now), None)
    if before is None:
        raise ValueError(f"trial {number} {history.fate(number)}")
    same_error = row.error is None or row.error == before.error
    if before.value == row.value and same_error and _describes(space, row, before.params):
        return None
    if not replace:
        value = "as failed" if before.value is None else f"with the value {before.value!r}"
        raise ToldBeforeError(f"trial {number} was told already, {value}")
    params = space.validate({**before.params, **_set_differently(space, row, before.params)})
    return _ToldSheet(Evaluation(params, row.value, _message(row), now, error=_error(row)), is_pending=False)


def evaluations_of(space: Space, results: Results, place: object) -> list[tuple[Filled, Evaluation]]:
    """The rows of a sheet that tell by themselves what was measured where; SheetError if one is not complete.

    place: the name of the sheet.
    """
    complaints = list(results.complaints)
    found = []
    for row in results.told:
        try:
            found.append((row, Evaluation(space.validate(row.params), row.value, _message(row), error=_error(row))))
        except ValueError as error:
            complaints.append(Complaint(row.line, str(error).rstrip(".")))
    if complaints:
        raise SheetError(place, complaints)
    return found


def import_evaluations(run: StoredRun, evaluations: list[tuple[Filled, Evaluation]]) -> Told:
    """What became of evaluations from before the run, after those that it does not have were stored."""
    there = Counter(_identity(e.params, e.value) for e in run.contents().history.evaluations)
    taken: list[Evaluation] = []
    known: list[Filled] = []
    for row, evaluation in evaluations:
        identity = _identity(evaluation.params, evaluation.value)
        if there[identity] > 0:
            there[identity] -= 1
            known.append(row)
        else:
            taken.append(evaluation)
    numbers = run.add_evaluations(taken)
    return Told([e._replace(number=number) for e, number in zip(taken, numbers, strict=True)], {}, known)


def _identity(params: dict[str, Any], value: float | None) -> str:
    return f"{point_key(params)} {value!r}"


def _error(row: Filled) -> float | None:
    """That of a value; a failed evaluation has none."""
    return None if row.value is None else row.error


def _message(row: Filled) -> str:
    return row.comment or ("no value" if row.value is None else "")


def _number_described(space: Space, history: History, row: Filled) -> int:
    """The number of the trial whose parameters a row has; ValueError if there is none, or more than one."""
    missing = [name for name, p in space.parameters.items() if name not in row.params and not p.is_constant]
    if missing:
        raise ValueError(f"without a number, all parameters are needed: {', '.join(missing)} is missing")
    fitting = [point for point in history.pending if _describes(space, row, point)]
    exact = [point for point in fitting if all(point[name] == value for name, value in row.params.items())]
    found = exact or fitting
    if len(found) > 1:
        numbers = ", ".join(str(point.number) for point in found)
        raise ValueError(f"it describes trials {numbers}: say which in a column called number")
    if not found:
        told = [e for e in history.evaluations if _describes(space, row, e.params) and e.value == row.value]
        if told and told[0].number is not None:
            return told[0].number
        raise ValueError("no pending point has these parameters (compbo import takes what was never asked for)")
    return found[0].number or 0


def _set_differently(space: Space, row: Filled, point: dict[str, Any] | NumberedPoint) -> dict[str, Any]:
    """The parameters of a row that are not those of the point, nor what a spreadsheet has made of them."""
    return {
        name: value
        for name, value in row.params.items()
        if not isinstance(space.parameters[name], Float)
        or row.rounding.get(name, 0.0) > SIX_DIGITS * abs(value)
        or not _is_near(row, name, point)
    }


def _is_near(row: Filled, name: str, point: dict[str, Any] | NumberedPoint) -> bool:
    """Whether a number is that of the point, up to the digits that were written."""
    near = row.rounding.get(name, 0.0) + CLOSE * abs(point[name])
    return bool(abs(row.params[name] - point[name]) <= near)


def _describes(space: Space, row: Filled, point: dict[str, Any] | NumberedPoint) -> bool:
    """Whether the parameters of a row are those of a point, up to the digits that were written."""
    return all(
        _is_near(row, name, point) if isinstance(space.parameters[name], Float) else value == point[name]
        for name, value in row.params.items()
    )
