"""Everything the report shows, as plain data: a pure function of the optimizer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from compbo.bo.history import sign_of
from compbo.bo.verdict import Verdict
from compbo.records import COMPLETE, FAIL, PRUNED, Record
from compbo.report.axes import ParameterAxis, axis_of, definition, fraction, position
from compbo.report.reproduce import as_python, call_in_python, settings_rows, software_and_machine
from compbo.report.slices import SLICES, ModelSummary, Share, summarise_model
from compbo.space import Float, Int

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compbo.bo.history import Direction
    from compbo.bo.optimizer import Optimizer
    from compbo.bo.telemetry import Telemetry
    from compbo.evaluation import Evaluation
    from compbo.records import StudyFacts
    from compbo.space import Parameter, Space

EDGE = 0.01  # of the range: a best value so close to its end may want a wider range


class Row(TypedDict):
    """One evaluation. Numbers count from 0; in an Optuna study they are those of the trials."""

    place: int  # in the list of evaluations
    number: int
    state: str  # COMPLETE, FAIL or PRUNED, whose value is the last that was reported
    value: float | None
    params: dict[str, Any]
    message: str


class Best(TypedDict):
    """The best evaluation and what there is to say about it."""

    place: int
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
    positions: dict[str, list[float | None]]  # of every evaluation, along the axes shown; None: not modelled
    space: list[tuple[str, str, str]]  # name, kind, definition
    conditional: int  # parameters that not every trial shares; they stand last in the space
    importance: list[Share]
    evaluator: str  # what Optuna computed the importance with; empty: it is that of the model
    optuna: bool  # whether another program ran the study
    modelled: int  # evaluations that a model can use
    surrogate: ModelSummary | None
    no_surrogate: str  # why there is none
    asks: list[Telemetry]
    settings: list[tuple[str, str]]
    versions: dict[str, str]
    call: str


def collect(optimizer: Optimizer, title: str | None = None, facts: StudyFacts | None = None) -> Report:
    """The report of a finished or a running job; title: of the page. Nothing of the optimizer is changed.

    facts: what a study of another program says beyond the parameters that its trials share.
    """
    space, settings, history = optimizer.space, optimizer.settings, optimizer.history
    asks = optimizer.telemetry
    rows = _rows(history.evaluations, facts)
    places = list(facts.modelled) if facts is not None else list(range(len(rows)))
    surrogate, why_not = summarise_model(space, settings, history)
    if surrogate is not None:
        surrogate["nearest"] = [places[i] for i in surrogate["nearest"]]
    parameters = {name: p for name, p in space.parameters.items() if not p.is_constant}
    names = list(parameters) if surrogate is None else [share["name"] for share in surrogate["importance"]]
    shown = sorted(names[:SLICES], key=list(parameters).index)
    modelled = [ask.observations for ask in asks if ask.verdict != Verdict.DESIGN]
    extra = {} if facts is None else facts.definitions
    shares, evaluator = _importance(surrogate, facts)
    return Report(
        title=title or "Optimisation report",
        direction=settings.direction,
        evaluations=rows,
        pending=len(history.pending) if facts is None else facts.running,
        best=_best(space, rows, settings.direction),
        best_so_far=_best_so_far(rows, settings.direction),
        model_from=modelled[0] if modelled else None,
        axes=[axis_of(name, parameter) for name, parameter in parameters.items()],
        positions={name: _positions(parameters[name], name, rows, places) for name in shown},
        space=[(name, p.kind, definition(p)) for name, p in space.parameters.items()]
        + [(name, *words) for name, words in extra.items()],
        conditional=len(extra),
        importance=shares,
        evaluator=evaluator,
        optuna=facts is not None,
        modelled=len(places),
        surrogate=surrogate,
        no_surrogate=why_not,
        asks=asks,
        settings=settings_rows(space, settings),
        versions=software_and_machine(),
        call=call_in_python(space, settings, len(rows)),
    )


def _rows(evaluations: Sequence[Evaluation], facts: StudyFacts | None) -> list[Row]:
    """Of a study of another program every trial that has ended, with all its parameters."""
    if facts is None:
        records = [
            Record(i, FAIL if e.failed else COMPLETE, e.value, e.params, e.message) for i, e in enumerate(evaluations)
        ]
    else:
        records = [replace(r, value=facts.reported.get(r.number)) if r.state == PRUNED else r for r in facts.records]
    return [
        Row(place=place, number=r.number, state=r.state, value=r.value, params=r.params, message=r.message)
        for place, r in enumerate(records)
    ]


def of_state(report: Report, state: str) -> list[Row]:
    """The evaluations that ended in a state: COMPLETE, FAIL or PRUNED."""
    return [row for row in report["evaluations"] if row["state"] == state]


def _positions(parameter: Parameter, name: str, rows: list[Row], places: list[int]) -> list[float | None]:
    """Where every evaluation stands along a parameter; None where it is not in the shared space."""
    found: list[float | None] = [None] * len(rows)
    for place in places:
        found[place] = position(parameter, rows[place]["params"][name])
    return found


def _importance(surrogate: ModelSummary | None, facts: StudyFacts | None) -> tuple[list[Share], str]:
    """The shares of the parameters, and what computed them: Optuna where it can, as it knows all parameters."""
    if facts is not None and facts.importance:
        return [Share(name=name, share=share) for name, share in facts.importance.items()], facts.evaluator
    return [] if surrogate is None else surrogate["importance"], ""


def _best(space: Space, rows: list[Row], direction: Direction) -> Best | None:
    best = _best_row(rows, direction)
    if best is None:
        return None
    return Best(
        place=best["place"],
        number=best["number"],
        value=float(best["value"] or 0.0),
        params=best["params"],
        python=as_python(best["params"]),
        at_edge=_at_edge(space, best["params"]),
    )


def _best_row(rows: Iterable[Row], direction: Direction) -> Row | None:
    """The best of the completed evaluations, the earliest of equals."""
    sign = sign_of(direction)
    done = [row for row in rows if row["state"] == COMPLETE and row["value"] is not None]
    return max(done, key=lambda row: sign * (row["value"] or 0.0), default=None)


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


def _best_so_far(rows: Sequence[Row], direction: Direction) -> list[float | None]:
    """The best value after every evaluation; None before the first success."""
    curve: list[float | None] = []
    best: Row | None = None
    for row in rows:
        best = _best_row([row] if best is None else [best, row], direction)
        curve.append(None if best is None else best["value"])
    return curve
