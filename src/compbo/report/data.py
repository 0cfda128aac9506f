"""Everything the report shows, as plain data: a pure function of the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from compbo.bo.history import best_evaluation
from compbo.bo.verdict import Verdict
from compbo.records import COMPLETE, FAIL
from compbo.report.axes import ParameterAxis, axis_of, definition, fraction, position
from compbo.report.reproduce import as_python, call_in_python, settings_rows, software_and_machine
from compbo.report.slices import SLICES, ModelSummary, summarise_model
from compbo.space import Float, Int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.bo.history import Direction
    from compbo.bo.optimizer import Optimizer
    from compbo.bo.telemetry import Telemetry
    from compbo.evaluation import Evaluation
    from compbo.space import Space

EDGE = 0.01  # of the range: a best value so close to its end may want a wider range


class Row(TypedDict):
    """One evaluation. Numbers count from 0."""

    number: int
    state: str  # COMPLETE or FAIL
    value: float | None
    params: dict[str, Any]
    message: str


class Best(TypedDict):
    """The best evaluation and what there is to say about it."""

    number: int
    value: float
    params: dict[str, Any]
    python: str
    at_edge: list[tuple[str, str]]  # parameter and "low" or "high"


class Report(TypedDict):
    """The whole page as data."""

    title: str
    direction: Direction
    evaluations: list[Row]
    pending: int
    best: Best | None
    best_so_far: list[float | None]
    model_from: int | None  # number of evaluations known when the model first proposed
    axes: list[ParameterAxis]  # of the parameters that vary, in the order of the space
    positions: dict[str, list[float]]  # of every evaluation, along the axes that are shown
    space: list[tuple[str, str, str]]  # name, kind, definition
    surrogate: ModelSummary | None
    no_surrogate: str  # why there is none
    asks: list[Telemetry]
    settings: list[tuple[str, str]]
    versions: dict[str, str]
    call: str


def collect(optimizer: Optimizer, title: str | None = None) -> Report:
    """The report of a finished or a running job; title: of the page. Nothing of the optimizer is changed."""
    space, settings, history = optimizer.space, optimizer.settings, optimizer.history
    evaluations, asks = history.evaluations, optimizer.telemetry
    best = history.best(settings.direction)
    surrogate, why_not = summarise_model(space, settings, history)
    parameters = {name: p for name, p in space.parameters.items() if not p.is_constant}
    names = list(parameters) if surrogate is None else [share["name"] for share in surrogate["importance"]]
    shown = sorted(names[:SLICES], key=list(parameters).index)
    modelled = [ask.observations for ask in asks if ask.verdict != Verdict.DESIGN]
    return Report(
        title=title or "Optimisation report",
        direction=settings.direction,
        evaluations=[_row(number, evaluation) for number, evaluation in enumerate(evaluations)],
        pending=len(history.pending),
        best=None if best is None else _best(space, evaluations, best),
        best_so_far=_best_so_far(evaluations, settings.direction),
        model_from=modelled[0] if modelled else None,
        axes=[axis_of(name, parameter) for name, parameter in parameters.items()],
        positions={name: [position(parameters[name], e.params[name]) for e in evaluations] for name in shown},
        space=[(name, p.kind, definition(p)) for name, p in space.parameters.items()],
        surrogate=surrogate,
        no_surrogate=why_not,
        asks=asks,
        settings=settings_rows(space, settings),
        versions=software_and_machine(),
        call=call_in_python(space, settings, len(evaluations)),
    )


def _row(number: int, evaluation: Evaluation) -> Row:
    state = FAIL if evaluation.failed else COMPLETE
    return Row(number=number, state=state, value=evaluation.value, params=evaluation.params, message=evaluation.message)


def _best(space: Space, evaluations: Sequence[Evaluation], best: Evaluation) -> Best:
    return Best(
        number=next(i for i, evaluation in enumerate(evaluations) if evaluation is best),
        value=float(best.value or 0.0),
        params=best.params,
        python=as_python(best.params),
        at_edge=_at_edge(space, best.params),
    )


def _at_edge(space: Space, params: dict[str, Any]) -> list[tuple[str, str]]:
    """Numeric parameters that stand at an end of their range, unless they have only a few levels."""
    found = []
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float | Int) and not parameter.is_constant:
            axis = axis_of(name, parameter)
            share = fraction(axis, position(parameter, params[name]))
            if min(share, 1.0 - share) <= EDGE and not axis["points"]:
                found.append((name, "low" if share < 0.5 else "high"))
    return found


def _best_so_far(evaluations: Sequence[Evaluation], direction: Direction) -> list[float | None]:
    """The best value after every evaluation; None before the first success."""
    curve: list[float | None] = []
    best: Evaluation | None = None
    for evaluation in evaluations:
        best = best_evaluation([evaluation] if best is None else [best, evaluation], direction)
        curve.append(None if best is None else best.value)
    return curve
