"""An Optuna study as the history of an ask/tell optimizer.

Finished trials are evaluations, running ones pending points. A trial says what it will evaluate as soon as that is
decided, in a system attribute, long before its parameters are in the storage one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from optuna.trial import TrialState

from compbo.evaluation import Evaluation
from compbo.space import Space
from compbo.space.convert import on_its_step
from compbo.storage.signature import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

POINT, PLAN = "compbo:point", "compbo:plan"
FINAL = "compbo:final"  # the point will not change any more
FIXED = "fixed_params"  # Optuna's: the parameters of an enqueued trial
CONSTRAINTS = "constraints"  # Optuna's: a list, or one attribute "constraints:<key>" per constraint from version 5 on

Point = dict[str, Any]


def publish(storage: BaseStorage, trial_id: int, key: str, data: object) -> None:
    """Write data as attributes of a trial, in place of what was there.

    The first piece comes last: it says that the others are there.
    """
    pieces = pack(key, data)
    left_over = [name for name in storage.get_trial(trial_id).system_attrs if name.startswith(f"{key}:")]
    for name, piece in reversed(({**pieces, **{name: "" for name in left_over if name not in pieces}}).items()):
        storage.set_trial_system_attr(trial_id, name, piece)


@dataclass(frozen=True)
class Plan:
    """A joint batch: the points of the trials anchor, anchor + 1, ..."""

    anchor: int
    points: list[Point]

    def covers(self, number: int) -> bool:
        """Whether the plan has a point for this trial."""
        return self.anchor <= number < self.anchor + len(self.points)

    def point_of(self, number: int) -> Point:
        """What this trial is to evaluate."""
        return self.points[number - self.anchor]


@dataclass
class History:
    """What the trials of a study say about one search space."""

    evaluations: list[Evaluation] = field(default_factory=list)
    pending: dict[int, Point] = field(default_factory=dict)  # by trial number
    final: set[int] = field(default_factory=set)  # those of them whose point will not change any more
    undecided: set[int] = field(default_factory=set)  # running, and nobody knows yet what they will evaluate
    plans: list[Plan] = field(default_factory=list)
    more_varies: bool = False  # finished trials have parameters outside the space, so equal points are not equal trials


class Reader:
    """Reads trials in the terms of one search space."""

    def __init__(self, search_space: Mapping[str, BaseDistribution]) -> None:
        self._distributions = dict(search_space)
        self.space = Space.from_optuna(self._distributions)

    def history(self, trials: Sequence[FrozenTrial], *, without: int, plans_from: int) -> History:
        """The history as one trial, number `without`, sees it; plans of the trials from a number on."""
        history = History()
        best = _best([t for t in trials if t.state == TrialState.COMPLETE and is_feasible(t)])
        for trial in trials:
            if trial.number == without:
                continue
            if trial.state.is_finished():
                point = self._finished_point(trial)
                if point is not None:
                    history.evaluations.append(_evaluation(point, trial, best))
                    history.more_varies |= self._has_more(trial)
            else:
                self._add_unfinished(history, trial)
            if trial.number >= plans_from:
                self._add_plan(history, trial)
        return history

    def _finished_point(self, trial: FrozenTrial) -> Point | None:
        """Its point, or None if it has another one of these parameters, or the same one with another range."""
        if any(trial.distributions.get(name) != wanted for name, wanted in self._distributions.items()):
            return None
        return self.point(trial.params)

    def _has_more(self, trial: FrozenTrial) -> bool:
        return any(not d.single() for name, d in trial.distributions.items() if name not in self._distributions)

    def _add_unfinished(self, history: History, trial: FrozenTrial) -> None:
        published = unpack(POINT, trial.system_attrs)
        known = {**(published or {}), **trial.system_attrs.get(FIXED, {}), **trial.params}
        point = self.point(known)
        if point is not None:
            history.pending[trial.number] = point
            if trial.system_attrs.get(FINAL) or published is None:  # or it is not one of ours
                history.final.add(trial.number)
        elif published is None and trial.state == TrialState.RUNNING:
            history.undecided.add(trial.number)

    def _add_plan(self, history: History, trial: FrozenTrial) -> None:
        """Take a plan that was made for this space, or for one with more parameters."""
        plan = unpack(PLAN, trial.system_attrs)
        points = [self.point(params) for params in plan["points"]] if plan else []
        usable = [point for point in points if point is not None]
        if usable and len(usable) == len(points):
            history.plans.append(Plan(plan["anchor"], usable))

    def point(self, params: Mapping[str, Any]) -> Point | None:
        """The point of these parameters; None if one is missing or does not belong to the space."""
        try:
            return self.space.validate(
                {name: on_its_step(params[name], wanted) for name, wanted in self._distributions.items()}
            )
        except (KeyError, ValueError):
            return None


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether no constraint of the trial is above zero."""
    listed = trial.system_attrs.get(CONSTRAINTS) or ()
    keyed = [value for key, value in trial.system_attrs.items() if key.startswith(f"{CONSTRAINTS}:")]
    return all(value <= 0 for value in (*listed, *keyed))


def _best(trials: Sequence[FrozenTrial]) -> tuple[float, float] | None:
    """Lowest and highest finite value."""
    values = [t.value for t in trials if t.value is not None and math.isfinite(t.value)]
    return (min(values), max(values)) if values else None


def _evaluation(point: Point, trial: FrozenTrial, range_of_completed: tuple[float, float] | None) -> Evaluation:
    """What a finished trial is worth.

    Failed and infeasible ones have no value: the optimizer avoids them. A pruned one counts with the last value it
    reported, but never as better or worse than every completed one: it was not measured to the end.
    """
    if trial.state == TrialState.FAIL:
        return Evaluation(point, None, "failed")
    if not is_feasible(trial):
        return Evaluation(point, None, "infeasible")
    value = trial.value
    if value is None or not math.isfinite(value):
        return Evaluation(point, None, "pruned" if trial.state == TrialState.PRUNED else f"the value was {value}")
    if trial.state == TrialState.PRUNED:
        if range_of_completed is None:
            return Evaluation(point, None, "pruned")
        low, high = range_of_completed
        return Evaluation(point, min(max(value, low), high), "pruned")
    return Evaluation(point, value)
