"""Racing restarts: those that cannot win are dropped early, and the leaders get what is left.

A climb around another one. All restarts climb for a round and are compared on one fixed draw; the best quarter climbs
for another round, and the leaders go on in two legs, the second one only if the first gained something and they have
not all met. With `polish` the legs are Adam's, on fresh draws, with a step that falls to zero, and the second is long:
a leader may make more than T steps, but steps x restarts stay within those of the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from compbo.maximizers.ascend import Ascent, Way
from compbo.maximizers.contenders import contenders, has_stopped, look_at
from compbo.maximizers.entry import Maximizer
from compbo.maximizers.rules.adam import adam
from compbo.maximizers.schedules import constant, falling
from compbo.types import Failure, Status

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.climb import Maximisation, Traits
    from compbo.maximizers.contenders import Look
    from compbo.maximizers.restarts import RestartBatch

ROUND = 1 / 8  # of the budget's steps T
QUARTER = 1 / 4  # of the restarts, at least the leaders: what goes on after the first round
LEADERS, FINALISTS = 4, 2  # restarts that run the short leg and the long one
SHORT_LEG, LONG_LEG = 1 / 2, 2  # of the budget's steps T
RATE, BETA1, BETA2 = 0.03, 0.9, 0.99  # of the Adam that finishes; the rate is that of its first step
SMALL_GAIN = 0.01  # of all that was gained: a leg that gains less is the last,
TRIFLE = 1e-3  # and so is one that gains less than this share of the deviation of h from column to column


def finishing(steps: int) -> Ascent:
    """How leaders finish: Adam with a step that falls to zero within these steps, without a tracker."""
    return Ascent(adam(falling(RATE, steps), constant(BETA1), constant(BETA2)))


@dataclass(frozen=True)
class Race:
    """A gradient method, `ascent`, whose restarts race. It is called as the method is."""

    ascent: Ascent
    polish: bool = False  # leaders finish with Adam

    @property
    def traits(self) -> Traits:
        """Those of the gradient method."""
        return self.ascent.traits

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> list[Status]:
        """Rounds, then legs. Values of the trace are those on the fixed draw; how each restart ended."""
        task.oracle.start(task.generator)
        course, steps = _Course(task, restarts), task.budget.steps
        length = max(1, round(ROUND * steps))
        way = Way.begin(self.ascent, task, restarts.only(course.rows))
        for most in (max(LEADERS, round(QUARTER * len(restarts.x))), LEADERS):
            if course.affordable(length) > 0:
                way = way.only(course.climb(way, length, most))
        for leg in self._legs(steps, way.t):
            length = course.affordable(leg)
            if length == 0:
                break
            before = course.gain
            if self.polish:
                way = Way.begin(finishing(length), task, restarts.only(course.rows))
            way = way.only(course.climb(way, length, FINALISTS))
            if course.all_met or course.gain - before <= max(SMALL_GAIN * course.gain, TRIFLE * course.deviation):
                course.leave(course.rows, Status.CONVERGED)
        return course.endings

    def _legs(self, steps: int, made: int) -> tuple[int, int]:
        """Lengths of the two legs of the leaders, with `made` of the budget's steps behind them."""
        if self.polish:
            return max(1, round(SHORT_LEG * steps)), LONG_LEG * steps
        half = (steps - made) // 2
        return steps - made - half, half


def can_race(maximizer: Maximizer) -> bool:
    """Whether the maximizer is a gradient ascent, so that its restarts can race."""
    return isinstance(maximizer.entry.build(**maximizer.hyperparameters), Ascent)


def raced(maximizer: Maximizer, polish: bool = False) -> Maximizer:
    """The same maximizer, a gradient ascent, with restarts that race; polish: and leaders that finish with Adam."""
    entry = maximizer.entry

    def build(**hyperparameters: Any) -> Race:
        climb = entry.build(**hyperparameters)
        if not isinstance(climb, Ascent):
            raise ValueError(f"{entry.name}: only the restarts of a gradient ascent can race.")
        return Race(climb, polish)

    return Maximizer(replace(entry, build=build), maximizer.hyperparameters)


class _Course:
    """Where the race stands: the restarts that still run, what they are worth, and what is left of the budget."""

    def __init__(self, task: Maximisation, restarts: RestartBatch) -> None:
        self._task, self._restarts = task, restarts
        self.rows = torch.arange(len(restarts.x))  # that still run
        self.endings = [Status.DONE] * len(restarts.x)
        self.all_met = False  # those that could win, in the last round or leg
        self._left = task.budget.steps * len(restarts.x)  # steps of one restart
        self._look()
        restarts.info.start_value = restarts.info.value.clone()

    @property
    def gain(self) -> float:
        """Of the best so far over the best start point."""
        best, start = self._restarts.best_value, self._restarts.info.start_value
        return float(best.nan_to_num(nan=-torch.inf).max() - start.nan_to_num(nan=-torch.inf).max())

    @property
    def deviation(self) -> float:
        """Of h of the best restart that ran last, from column to column; 0 where f is not on the scale of h."""
        return self._deviation if self._task.oracle.linear_outer else 0.0

    def affordable(self, steps: int) -> int:
        """That many steps, or as many as the budget still has for the restarts that run."""
        return min(steps, self._left // len(self.rows)) if len(self.rows) > 0 else 0

    def climb(self, way: Way, steps: int, most: int) -> Tensor:
        """Let the restarts that run make steps on their way, if the budget has them, then drop all but the best.

        way: of the restarts that run. steps: how many. most: how many run on. Returns which of them do, by their
        indices among them, the best first.
        """
        count = self.affordable(steps)
        self._left -= count * len(self.rows)
        try:
            for _ in range(count):
                if way.restarts.all_failed:
                    break
                way.step()
        finally:  # the clock may run out on the way
            self._restarts.take_back(self.rows, way.restarts)
        previous, look = self._values, self._look()
        return self._thin_out(look, look.value - previous, most)

    def _look(self) -> Look:
        """Look at the restarts that run; one without a value has failed."""
        restarts, rows = self._restarts, self.rows
        look = look_at(self._task.oracle, restarts.x[rows])
        restarts.info.jitter = max(restarts.info.jitter, look.jitter)
        restarts.seen(rows, look.value)
        for why, where in ((Failure.NO_FACTOR, look.no_factor), (Failure.VALUE, look.value.isnan())):
            if bool(where.any()):
                restarts.fail(torch.zeros_like(restarts.failed).index_copy(0, rows, where), why)
        self._values = look.value
        best = int(look.value.nan_to_num(nan=-torch.inf).argmax())
        self._deviation = float(look.utility[best].std(correction=0).nan_to_num())
        return look

    def _thin_out(self, look: Look, gain: Tensor, most: int) -> Tensor:
        rows, restarts = self.rows, self._restarts
        still = has_stopped(look.value, gain)
        running = ~still & ~restarts.failed[rows]
        kept, self.all_met = contenders(look, gain, restarts.x[rows], running, self._task.box, most)
        others = torch.ones_like(still)
        others[kept] = False
        self.leave(rows[others & still], Status.CONVERGED)
        self.leave(rows[others & ~still], Status.DROPPED)
        self.rows, self._values = rows[kept], look.value[kept]
        return kept

    def leave(self, rows: Tensor, status: Status) -> None:
        """The race is over for these restarts (their indices), which end with this status."""
        for i in rows.tolist():
            self.endings[i] = status
        self.rows = self.rows[~torch.isin(self.rows, rows)]
