"""Why these points? The last ask in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from compbo.acquisition.portfolio import Portfolio, get_portfolio, spelled
from compbo.bo.model import model_of
from compbo.bo.prediction import predictions_of
from compbo.bo.suggest import is_single
from compbo.bo.verdict import Verdict
from compbo.space.codecs import width
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from compbo.bo.history import History
    from compbo.bo.prediction import Prediction
    from compbo.bo.settings import Settings
    from compbo.bo.telemetry import Telemetry
    from compbo.evaluation import Evaluation
    from compbo.space import Space

DIFFERENCES = 6  # parameters that are named
NONE_LEFT = "None of its points is left: they were forgotten."


def explain_ask(space: Space, settings: Settings, history: History, telemetry: Telemetry) -> str:
    """The points of an ask, what the model expects there, and how they were found, in words.

    The model is that of the ask, which had not seen these points; what else was told since then it has seen.
    """
    numbers = range(telemetry.first_number, telemetry.first_number + telemetry.points)
    told = {e.number: e for e in history.evaluations if e.number in numbers}
    points = {point.number or 0: dict(point) for point in history.pending if point.number in numbers}
    points |= {e.number or 0: e.suggested or e.params for e in told.values()}
    before = replace(history, evaluations=tuple(e for e in history.evaluations if e.number not in numbers))
    lines = [_how(space, settings, telemetry)]
    if not points:
        return "\n".join([*lines, NONE_LEFT])
    best = before.best(settings.direction)
    if telemetry.verdict == Verdict.DESIGN or best is None:
        return "\n".join([*lines, *(f"Trial {number}: {_listed(points[number])}" for number in sorted(points))])
    since = len(before.evaluations) - telemetry.observations
    if since > 0:
        lines.append(f"{counted(since, 'result')} told since then: the predictions are those of the model now.")
    known = counted(len(before.evaluations), "evaluation")
    lines.append(f"The best of {known} is {best.value:.6g} (trial {best.number}).")
    model = model_of(space, settings, before.observations(space, settings.direction))
    theta = model.hyperparameters
    best_at = theta.warp.forward(space.to_unit([best.params]))
    ordered = sorted(points)
    expected = predictions_of(model, space, settings.direction, [points[number] for number in ordered])
    for number, prediction in zip(ordered, expected, strict=True):
        offset = (theta.warp.forward(space.to_unit([points[number]])) - best_at)[0] * (1.0 / theta.lengthscale)
        away = _distances(space, offset)
        lines += _point(number, points[number], prediction, told.get(number), best.params, away)
    return "\n".join(lines)


def _distances(space: Space, offset: Tensor) -> dict[str, float]:
    """How far two points are from each other in every parameter, from their difference (d,) in lengthscales."""
    widths = [width(parameter) for parameter in space.parameters.values()]
    parts = torch.split(offset, widths)
    return {name: float(part.norm()) for name, part in zip(space.names, parts, strict=True)}


def _how(space: Space, settings: Settings, telemetry: Telemetry) -> str:
    """How the points were found."""
    if telemetry.verdict == Verdict.DESIGN:
        return f"{telemetry.reason[:1].upper()}{telemetry.reason[1:]}: there was no model yet."
    portfolio = get_portfolio(settings.acquisition)
    turn = ""
    if isinstance(portfolio, Portfolio):
        taking_turns = portfolio.among(single=is_single(space, telemetry.points, telemetry.pending))
        turn = f", whose turn it was among {', '.join(spelled(member) for member in taking_turns)}"
    together = " together" if telemetry.points > 1 else ""
    return (
        f"{telemetry.maximizer} chose {counted(telemetry.points, 'point')}{together}, by the acquisition function "
        f"{telemetry.acquisition}{turn}. Verdict: {telemetry.verdict} ({telemetry.reason})."
    )


def _point(
    number: int,
    point: Mapping[str, Any],
    expected: Prediction,
    told: Evaluation | None,
    best: Mapping[str, Any],
    away: Mapping[str, float],
) -> list[str]:
    """A point: its parameters, what was expected, what came out, and where it differs from the best."""
    differing = sorted((name for name in point if point[name] != best[name]), key=lambda name: -away.get(name, 0.0))
    shown = [f"{name} {_short(point[name])}, not {_short(best[name])}" for name in differing[:DIFFERENCES]]
    more = len(differing) - len(shown)
    rest = f"; and {counted(more, 'more parameter')}" if more else ""
    result = ""
    if told is not None:
        result = "; it failed" if told.value is None else f"; it is {told.value:.6g}"
    chance = f"better than the best with a probability of {expected.improvement:.2g}"
    return [
        f"Trial {number}: {_listed(point)}",
        f"  expected {expected.mean:.6g} +- {expected.deviation:.3g}, {chance}{result}",
        f"  differs from the best in {'; '.join(shown)}{rest}" if shown else "  the best point itself, again",
    ]


def _listed(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in point.items())


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
