"""A function of the user's as a maximizer: it gets what a `Maximizer` gets, and its answer goes into the same frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from compbo.errors import OptionError
from compbo.evaluation import describe
from compbo.maximizers.climb import Traits
from compbo.maximizers.entry import Entry
from compbo.maximizers.restarts import is_better, values_on_fixed_draw
from compbo.types import DTYPE, FORMS, Status, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from compbo.maximizers.climb import Maximisation
    from compbo.maximizers.restarts import RestartBatch

    MaximizerFunction = Callable[..., Tensor | Trace]


@dataclass(frozen=True)
class FunctionClimb:
    """A climb by one call of a function: `function(oracle, x0, budget=, box=, generator=)`.

    The oracle is started; the function moves the start points x0 (B, q, d) and returns where they ended, as points or
    as a `Trace`. What lies outside the box is projected on it; the better of start and end is the best of a restart.
    """

    name: str  # in the trace
    function: MaximizerFunction
    traits: Traits

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> Status | Sequence[Status]:
        """Call the function, then compare start and end on one fixed draw."""
        oracle, start = task.oracle, restarts.x
        oracle.start(task.generator)
        found = self._call(task, start.clone())
        ends = self._points(found, start)
        self._arrive(task, restarts, start)
        restarts.info.start_value = restarts.info.value
        for x in ends:
            self._arrive(task, restarts, task.box.project(torch.where(torch.isfinite(x), x, start)))
        if not isinstance(found, Trace):
            restarts.info.steps = task.budget.steps
            return Status.DONE
        restarts.info.steps, restarts.info.gradient_norm = found.steps, found.gradient_norm
        restarts.info.jitter = max(restarts.info.jitter, found.jitter)
        return found.status

    def _call(self, task: Maximisation, x0: Tensor) -> object:
        """Call the function; an error of its own names it."""
        try:
            return self.function(task.oracle, x0, budget=task.budget, box=task.box, generator=task.generator)
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
            raise RuntimeError(f"Maximizer {self.name} failed: {describe(error)}") from error

    def _points(self, found: object, start: Tensor) -> list[Tensor]:
        """Where the restarts ended: the best points of a trace and then the final ones, or the points given."""
        candidates = [found.best, found.final] if isinstance(found, Trace) else [found]
        for points in candidates:
            if not isinstance(points, torch.Tensor) or points.shape != start.shape:
                given = tuple(points.shape) if isinstance(points, torch.Tensor) else type(points).__name__
                raise ValueError(
                    f"Maximizer {self.name}: it must return points of the shape of x0, {tuple(start.shape)}, or a "
                    f"compbo.types.Trace of them; it returned {given}."
                )
        ends = [points.detach().to(DTYPE) for points in candidates if isinstance(points, torch.Tensor)]
        if not any(bool(torch.isfinite(points).any()) for points in ends):
            raise ValueError(f"Maximizer {self.name}: none of the numbers that it returned is finite.")
        return ends

    @staticmethod
    def _arrive(task: Maximisation, restarts: RestartBatch, x: Tensor) -> None:
        value, failure, jitter = values_on_fixed_draw(task.oracle, x)
        better = is_better(value, restarts.best_value) & torch.isfinite(value)
        restarts.best = torch.where(better[:, None, None], x, restarts.best)
        restarts.best_value = torch.where(better, value, restarts.best_value)
        restarts.x, restarts.info.value = x, value
        restarts.info.jitter = max(restarts.info.jitter, jitter)
        restarts.failed = restarts.best_value.isnan()  # until a later point has a value
        if failure is not None:
            restarts.info.failures = dict.fromkeys(range(len(x)), failure)


@dataclass(frozen=True)
class _Build:
    """What the row of a function builds; a value, so that rows of the same function are equal and can be pickled."""

    name: str  # in the trace
    function: MaximizerFunction
    traits: Traits

    def __call__(self) -> FunctionClimb:
        return FunctionClimb(self.name, self.function, self.traits)


def function_entry(function: Any) -> Entry:
    """The row of a function or of another callable.

    Args:
        function: called as a `Maximizer` is, without `record`. Its attribute `form` (ERM, FSM, Comp or ME) says which
            samples the oracle is built on; `name` is its name, else `__name__` or that of its type; `traits`, if it has
            any, say more: whether it uses gradients, and whether it keeps to one draw.

    Returns:
        A row without hyperparameters; OptionError if the function has no form.
    """
    name = str(getattr(function, "name", None) or getattr(function, "__name__", type(function).__name__))
    form = getattr(function, "form", None)
    if form not in FORMS:
        raise OptionError(
            "maximizer",
            "{option}: the function {name} needs an attribute `form`, one of {forms}: {name}.form = 'ERM'.",
            name=name,
            forms=", ".join(FORMS),
        )
    traits = getattr(function, "traits", Traits(order=1, rule=name, one_draw=False))
    return Entry(name, form, {}, _Build(name, function, traits), citation="of your own", after_paper=True)
