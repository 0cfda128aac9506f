"""Everything the report shows, as plain data: a pure function of the optimizer."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any, TypedDict

from compbo.history import COMPLETE, FAIL
from compbo.report.axes import Axis, axis_of, definition, fraction, position
from compbo.report.reproduce import as_python, call, settings_rows, software_and_machine
from compbo.report.slices import SLICES, Surrogate, surrogate_of
from compbo.space import Float, Int

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.evaluation import Evaluation
    from compbo.optimizer import Optimizer
    from compbo.propose import Telemetry
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


class Restarts(TypedDict):
    """Values of the restarts of one ask: least, median and largest of the finite ones; None if there are none."""

    low: float | None
    median: float | None
    high: float | None
    count: int


class Ask(TypedDict):
    """One ask; what is not finite is None."""

    number: int
    verdict: str
    reason: str
    observations: int
    pending: int
    points: int
    value: float | None
    error: float | None
    gain: float | None
    spread: float | None
    start: Restarts
    end: Restarts
    steps: int
    jitter: float | None
    fit_seconds: float
    start_seconds: float
    maximise_seconds: float
    maximizer: str
    acquisition: str
    replaced: int


class Report(TypedDict):
    """The whole page as data."""

    title: str
    direction: str
    evaluations: list[Row]
    pending: int
    best: Best | None
    best_so_far: list[float | None]
    model_from: int | None  # number of evaluations known when the model first proposed
    axes: list[Axis]  # of the parameters that vary, in the order of the space
    positions: dict[str, list[float]]  # of every evaluation, along the axes that are shown
    space: list[tuple[str, str, str]]  # name, kind, definition
    surrogate: Surrogate | None
    no_surrogate: str  # why there is none
    asks: list[Ask]
    settings: list[tuple[str, str]]
    versions: dict[str, str]
    call: str


def collect(optimizer: Optimizer, title: str | None = None) -> Report:
    """The report of a finished or a running job. Nothing of the optimizer is changed."""
    best = optimizer.best
    surrogate, why_not = surrogate_of(optimizer, best)
    parameters = {name: p for name, p in optimizer.space.parameters.items() if not p.is_constant}
    names = list(parameters) if surrogate is None else [share["name"] for share in surrogate["importance"]]
    shown = sorted(names[:SLICES], key=list(parameters).index)
    modelled = [entry.observations for entry in optimizer.telemetry if entry.verdict != "initial design"]
    return Report(
        title=title or "Optimisation report",
        direction=optimizer.settings.direction,
        evaluations=[_row(number, evaluation) for number, evaluation in enumerate(optimizer.evaluations)],
        pending=len(optimizer.pending),
        best=None if best is None else _best(optimizer, best),
        best_so_far=_best_so_far(optimizer),
        model_from=modelled[0] if modelled else None,
        axes=[axis_of(name, parameter) for name, parameter in parameters.items()],
        positions={name: [position(parameters[name], e.params[name]) for e in optimizer.evaluations] for name in shown},
        space=[(name, p.kind, definition(p)) for name, p in optimizer.space.parameters.items()],
        surrogate=surrogate,
        no_surrogate=why_not,
        asks=[_ask(number, entry) for number, entry in enumerate(optimizer.telemetry)],
        settings=settings_rows(optimizer),
        versions=software_and_machine(),
        call=call(optimizer),
    )


def _row(number: int, evaluation: Evaluation) -> Row:
    state = FAIL if evaluation.failed else COMPLETE
    return Row(number=number, state=state, value=evaluation.value, params=evaluation.params, message=evaluation.message)


def _best(optimizer: Optimizer, best: Evaluation) -> Best:
    return Best(
        number=next(i for i, evaluation in enumerate(optimizer.evaluations) if evaluation is best),
        value=float(best.value or 0.0),
        params=best.params,
        python=as_python(best.params),
        at_edge=_at_edge(optimizer.space, best.params),
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


def _best_so_far(optimizer: Optimizer) -> list[float | None]:
    better = max if optimizer.settings.direction == "maximize" else min
    best: float | None = None
    curve = []
    for evaluation in optimizer.evaluations:
        if evaluation.value is not None:
            best = evaluation.value if best is None else better(best, evaluation.value)
        curve.append(best)
    return curve


def _ask(number: int, entry: Telemetry) -> Ask:
    return Ask(
        number=number,
        verdict=str(entry.verdict),
        reason=entry.reason,
        observations=entry.observations,
        pending=entry.pending,
        points=entry.points,
        value=finite(entry.value),
        error=finite(entry.standard_error),
        gain=finite(entry.gain),
        spread=finite(entry.spread),
        start=_restarts(entry.start_values),
        end=_restarts(entry.end_values),
        steps=entry.steps,
        jitter=finite(entry.jitter),
        fit_seconds=finite(entry.fit_seconds) or 0.0,
        start_seconds=finite(entry.start_seconds) or 0.0,
        maximise_seconds=finite(entry.maximise_seconds) or 0.0,
        maximizer=entry.maximizer,
        acquisition=entry.acquisition,
        replaced=entry.replaced_duplicates,
    )


def _restarts(values: Iterable[float | None]) -> Restarts:
    kept = [value for value in map(finite, values) if value is not None]
    if not kept:
        return Restarts(low=None, median=None, high=None, count=0)
    return Restarts(low=min(kept), median=median(kept), high=max(kept), count=len(kept))


def finite(value: float | None) -> float | None:
    """The value, or None for NaN and infinity."""
    return value if value is not None and math.isfinite(value) else None
