"""The ledger of one cell: every evaluation, and the curve of the best one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from compbo.evaluation import Outcome, as_outcome, describe
from compbo.study.engine.rows import ERROR_KEPT, storable_text
from compbo.study.results import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task


@dataclass
class Ledger:
    """What happens in one cell, in order.

    Args:
        task: the black box.
        points: that were evaluated.
        losses: theirs; None where the evaluation failed.
        errors: a line per failed evaluation.
        best: the smallest loss after every step.
        regret: of the best point, after every step.
        generalisation: its loss on held-out data, after every step.

    >>> from compbo.study.tasks import get_task
    >>> ledger = Ledger(get_task("ackley-1"))
    >>> _ = ledger.evaluate([{"x1": 10.0}]), ledger.evaluate([{"x1": 20.0}, {"x1": 0.0}])
    >>> [round(regret, 3) for regret in ledger.regret]
    [17.293, 0.0]
    """

    task: Task
    points: list[Point] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    generalisation: list[float] = field(default_factory=list)
    _incumbent: int | None = None

    def evaluate(self, points: Sequence[Point]) -> list[float | None]:
        """Evaluate a batch, and write it down as a step; an exception of the task is a failure of that point.

        Args:
            points: the batch.

        Returns:
            Their losses; None for a failure.
        """
        losses = [self._evaluate(point) for point in points]
        self._close_step()
        return losses

    def _evaluate(self, point: Point) -> float | None:
        number = len(self.points)
        self.points.append(point)
        loss = self._attempt(self.task.evaluate, point, number)
        self.losses.append(loss)
        best = None if self._incumbent is None else self.losses[self._incumbent]
        if loss is not None and (best is None or loss < best):
            self._incumbent = number
        return loss

    def _attempt(
        self, measure: Callable[[Point], float | None], point: Point, number: int, *, optional: bool = False
    ) -> float | None:
        """A finite number, or None where it failed (or, if optional, does not exist)."""
        try:
            found = measure(dict(point))  # a copy: a task may change what it is given
        except (Exception, SystemExit) as error:  # a task may raise anything; it is written down
            outcome = Outcome(None, describe(error))
        else:
            if found is None and optional:
                return None
            outcome = as_outcome(found)
        if outcome.value is None:
            self.errors.append(storable_text(f"{number}: {outcome.message}", ERROR_KEPT))
        return outcome.value

    def _close_step(self) -> None:
        """Write down the best point so far: its loss, its loss without noise, its loss on held-out data."""
        number = self._incumbent
        if number is None:
            self.best.append(math.nan)
            self.regret.append(math.nan)
            self.generalisation.append(math.nan)
            return
        loss, point = self.losses[number] or 0.0, self.points[number]
        if self.best and self.best[-1] == loss:
            self.best.append(loss)
            self.regret.append(self.regret[-1])
            self.generalisation.append(self.generalisation[-1])
            return
        true = self._attempt(self.task.true_value, point, number, optional=True) if self.task.noisy else loss
        held_out = self._attempt(self.task.generalisation, point, number, optional=True)
        self.best.append(loss)
        self.regret.append((loss if true is None else true) - floor_of(self.task)[0])
        self.generalisation.append(math.nan if held_out is None else held_out)

    def row(self) -> schema.Row:
        """What is known at the end of the cell.

        Returns:
            The columns about the evaluations.
        """
        x = self.task.space.to_unit(self.points).numpy().reshape(-1)
        losses = np.array([math.nan if loss is None else loss for loss in self.losses])
        bits = schema.kept_bits(x.size)
        d, number = self.task.space.dim, self._incumbent
        floor, kind = floor_of(self.task)
        return {
            "digest": schema.digest(x, losses),
            "x": schema.rounded(x, bits).tolist(),
            "x_bits": bits,
            "loss": losses.tolist(),
            "true_loss": self._true_losses(),
            "evaluation_errors": self.errors,
            "floor": floor,
            "floor_kind": kind,
            "best": self.best,
            "regret": self.regret,
            "generalisation": [] if np.isnan(self.generalisation).all() else self.generalisation,
            "best_x": None if number is None else x[number * d : (number + 1) * d].tolist(),
        }

    def _true_losses(self) -> list[float] | None:
        """The losses without noise, if they differ from the ones observed and are known."""
        if not self.task.noisy:
            return None
        values = [
            None if loss is None else self._attempt(self.task.true_value, point, number, optional=True)
            for number, (point, loss) in enumerate(zip(self.points, self.losses, strict=True))
        ]
        known = any(value is not None for value in values)
        return [math.nan if value is None else value for value in values] if known else None


def floor_of(task: Task) -> tuple[float, str]:
    """The smallest loss of a task.

    Args:
        task: the black box.

    Returns:
        The loss, NaN if it is not known, and how it is known: optimum, reference or unknown.

    >>> from compbo.study.tasks import get_task
    >>> floor_of(get_task("levy-2"))
    (0.0, 'optimum')
    """
    if task.optimum is not None:
        return task.optimum, "optimum"
    if task.reference is not None:
        return task.reference, "reference"
    return math.nan, "unknown"
