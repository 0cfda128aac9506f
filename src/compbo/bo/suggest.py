"""A suggestion: Algorithm 1 of the paper, lines 3 and 4, as a function of the space, the settings and the history."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from compbo.acquisition.portfolio import Portfolio, get_portfolio
from compbo.bo.design import design_points, design_size
from compbo.bo.duplicates import distinct_points
from compbo.bo.model import model_of
from compbo.bo.propose import AcquisitionProblem, propose, remaining
from compbo.bo.settings import as_maximizer
from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import Verdict
from compbo.inputs import whole_number
from compbo.seeds import stream
from compbo.threads import threads_for
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.acquisition.integrands import Acquisition
    from compbo.bo.history import History, Observations, Point
    from compbo.bo.settings import Settings
    from compbo.space import Space

INCUMBENTS = 8  # best observations around which raw batches are drawn


class Suggestion(NamedTuple):
    """The points to evaluate next, and the telemetry: how they were found."""

    points: list[Point]
    telemetry: Telemetry


def suggest(space: Space, settings: Settings, history: History, count: int | None = None) -> Suggestion:
    """The next joint batch of points.

    A pure function: nothing is changed, and the same arguments give the same points, bit for bit. Evaluations and
    pending points count as sets: their order of arrival changes nothing. (Telemetry measures seconds besides, and with
    `Budget.seconds` the clock decides how far a maximisation comes.)

    Args:
        space: where the points lie.
        settings: how they are found.
        history: what was evaluated and what is pending.
        count: how many points; None: `settings.batch_size`.

    Returns:
        Valid points, none of them known to the history while there are others, and the telemetry.

    >>> from compbo import Evaluation, Float, Settings, Space
    >>> from compbo.bo.history import History
    >>> space = Space({"x": Float(0, 1)})
    >>> history = History((Evaluation({"x": 0.25}, 1.0),))
    >>> points, telemetry = suggest(space, Settings(initial_points=2), history)
    >>> len(points), telemetry.reason
    (1, '1 point of the sobol design')
    """
    count = whole_number("count", settings.batch_size if count is None else count)
    if history.size < design_size(space, settings) or not history.has_success:
        return _from_design(space, settings, history, count)
    return _from_model(space, settings, history, count)


def _from_design(space: Space, settings: Settings, history: History, count: int) -> Suggestion:
    started = time.perf_counter()
    points = design_points(space, settings, history, count)
    telemetry = Telemetry(
        Verdict.DESIGN,
        f"{counted(count, 'point')} of the {settings.initial_design} design",
        observations=len(history.evaluations),
        pending=len(history.pending),
        points=count,
        first_number=history.next_number,
        start_seconds=time.perf_counter() - started,
    )
    return Suggestion(points, telemetry)


def _from_model(space: Space, settings: Settings, history: History, count: int) -> Suggestion:
    observations = history.observations(space, settings.direction)
    generator = stream(settings.seed, "ask", observations.digest(), count)
    started = time.perf_counter()
    gp = model_of(space, settings, observations)
    fit_seconds = time.perf_counter() - started
    problem = AcquisitionProblem(
        gp.posterior,
        acquisition_of(space, settings, observations, count),
        gp.best,
        incumbents=observations.incumbents(INCUMBENTS),
        pending=observations.pending if len(observations.pending) > 0 else None,
        neighbours=space.neighbours if space.is_discrete else None,
        rounded=space.rounded_columns() if space.is_discrete and settings.starts.levels else None,
    )
    batch, telemetry = propose(
        problem,
        count,
        maximizer=as_maximizer(settings.maximizer),
        generator=generator,
        budget=remaining(settings.budget, fit_seconds),
        starts=settings.starts,
        minibatch=settings.minibatch,
    )
    noisy = bool(settings.noise) or observations.has_errors
    with threads_for(0.0):
        distinct = distinct_points(space, history, batch, problem, noisy=noisy, generator=generator)
    telemetry = replace(
        telemetry,
        observations=len(history.evaluations),
        modelled=len(gp.train_y),
        model=gp.describe(len(observations.y)),
        first_number=history.next_number,
        fit_seconds=fit_seconds,
        inputs=gp.hyperparameters.warp.describe(),
        outputs=gp.outputs.describe(),
        replaced=distinct.replaced,
        reason=telemetry.reason + distinct.note,
    )
    return Suggestion(distinct.points, telemetry)


def acquisition_of(space: Space, settings: Settings, observations: Observations, count: int) -> Acquisition:
    """The acquisition function of an ask: of a portfolio, the one whose turn it is.

    Args:
        space: with choices or without.
        settings: with the portfolio.
        observations: what is known and pending; every `count` points of it were a turn.
        count: points that are asked for.

    Returns:
        The acquisition function to maximise.
    """
    acquisition = get_portfolio(settings.acquisition)
    if not isinstance(acquisition, Portfolio):
        return acquisition
    turn = (len(observations.x) + len(observations.pending)) // count
    return acquisition.at(turn, single=is_single(space, count, len(observations.pending)))


def is_single(space: Space, count: int, pending: int) -> bool:
    """Whether an ask of `count` points beside those pending is for a single one among choices: see `Portfolio`."""
    return count + pending == 1 and bool(space.choice_columns)
