"""What a task is: a space, a loss to minimise, and what is known about the smallest loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from compbo.evaluation import as_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compbo.space import Space


@runtime_checkable
class Task(Protocol):
    """A black box of the study: small, immutable, picklable, and the same in every process.

    `evaluate` must depend on the task and the parameters only. Noise comes from a stream derived from the task's seed
    and the point: a cell then gives the same numbers in every process and in every order of cells.

    >>> from compbo.study.tasks import get_task
    >>> isinstance(get_task("levy-2"), Task), isinstance(get_task("rf-boston-mse"), Task)
    (True, True)
    """

    @property
    def name(self) -> str:
        """The spec that `get_task` turns back into this task."""
        ...

    @property
    def space(self) -> Space:
        """The parameters."""
        ...

    @property
    def direction(self) -> Literal["minimize"]:
        """Every task is a loss."""
        ...

    @property
    def noisy(self) -> bool:
        """Whether equal true losses can give different values (the surrogate then learns its noise)."""
        ...

    @property
    def optimum(self) -> float | None:
        """f(x*), where it is known: regrets are measured from it."""
        ...

    @property
    def reference(self) -> float | None:
        """L*, the smallest loss of a large random search, where one is stored."""
        ...

    def evaluate(self, params: Mapping[str, Any]) -> float:
        """The loss; an exception is recorded as a failure of this point."""
        ...

    def true_value(self, params: Mapping[str, Any]) -> float | None:
        """The loss without noise, where it is known: what regrets are made of."""
        ...

    def generalisation(self, params: Mapping[str, Any]) -> float | None:
        """The loss on held-out data, or None where there are none."""
        ...


@dataclass(frozen=True)
class FunctionTask:
    """Your own function as a task.

    Args:
        name: for messages; the spec of the task is the `module:object` under which it is found.
        space: the parameters.
        function: gets a dictionary of parameters and returns a loss.
        noisy: whether equal true losses can give different values.
        optimum: f(x*), if it is known; regrets are measured from it.
        reference: the smallest loss of a large random search, to stand for the optimum.
        held_out: the loss on held-out data, if there are any.

    >>> from compbo.space import Float, Space
    >>> task = FunctionTask("bowl", Space({"x": Float(-1, 1)}), lambda params: params["x"] ** 2, optimum=0.0)
    >>> task.evaluate({"x": 0.5})
    0.25
    """

    name: str
    space: Space
    function: Callable[[Mapping[str, Any]], float]
    noisy: bool = False
    optimum: float | None = None
    reference: float | None = None
    held_out: Callable[[Mapping[str, Any]], float] | None = None
    direction: Literal["minimize"] = field(default="minimize", init=False)

    def evaluate(self, params: Mapping[str, Any]) -> float:
        """The function's value, which must be a finite number."""
        outcome = as_outcome(self.function(params))
        if outcome.value is None:
            raise ValueError(f"Task {self.name}: the function {outcome.message}.")
        return outcome.value

    def true_value(self, params: Mapping[str, Any]) -> float | None:
        """The function's value, if it has no noise."""
        return None if self.noisy else self.evaluate(params)

    def generalisation(self, params: Mapping[str, Any]) -> float | None:
        """The loss on held-out data, if there is any."""
        return None if self.held_out is None else float(self.held_out(params))
