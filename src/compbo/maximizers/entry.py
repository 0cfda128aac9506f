"""What a row of the catalogue is, and what it becomes with its hyperparameters settled."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Generator, Tensor

    from compbo.maximizers.hyperparameters import Hyperparameter, Value
    from compbo.space import Parameter
    from compbo.types import Box, Budget, Oracle, Trace

Form = Literal["ERM", "FSM", "Comp", "ME"]


class Solver(Protocol):
    """What an entry's hyperparameters make: a maximisation."""

    def __call__(
        self, oracle: Oracle, x0: Tensor, *, budget: Budget, box: Box, generator: Generator, record: bool = False
    ) -> Trace:
        """Climb from x0 (B, q, d)."""
        ...


@dataclass(frozen=True)
class Entry:
    """One row of the catalogue."""

    name: str
    order: Literal[0, 1, 2]
    category: Literal["NonComp", "Comp", "extended"]  # as in the paper's Table 1; extended: from after the paper
    rule: str
    tracker: str
    form: Form  # which samples the oracle is to be built on
    samples: Literal["fresh", "minibatch", "fixed"]  # what a step sees of them
    hyperparameters: Mapping[str, Hyperparameter]
    solver: Callable[..., Solver]  # called with one keyword argument per hyperparameter; ValueError if they disagree
    citation: str

    def __post_init__(self) -> None:
        """Keep a read-only mapping of its own: rows are made of shared ones."""
        object.__setattr__(self, "hyperparameters", MappingProxyType(dict(self.hyperparameters)))

    def __reduce__(self) -> tuple[type[Entry], tuple[Any, ...]]:
        """Copies and pickles are made anew: a read-only view cannot be pickled."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self), tuple({**values, "hyperparameters": dict(self.hyperparameters)}.values())

    @property
    def defaults(self) -> dict[str, Value]:
        """The hyperparameters' default values."""
        return {name: h.default for name, h in self.hyperparameters.items()}

    @property
    def domain(self) -> dict[str, Parameter]:
        """The tuning domain, as parameters of a search space."""
        domain = {name: h.parameter() for name, h in self.hyperparameters.items()}
        return {name: parameter for name, parameter in domain.items() if parameter is not None}

    def settings(self, **given: Any) -> dict[str, Value]:
        """Defaults with the given values; a ValueError for what is unknown, out of range or does not go together."""
        for name in given:
            if name not in self.hyperparameters:
                known = ", ".join(self.hyperparameters) or "none"
                raise ValueError(f"{self.name} has no hyperparameter {name!r}; it has: {known}.")
        checked = {name: self.hyperparameters[name].check(self.name, name, value) for name, value in given.items()}
        settings = {**self.defaults, **checked}
        try:
            self.solver(**settings)  # refuses values that do not go together
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error
        return settings


@dataclass(frozen=True)
class Maximizer:
    """An entry with its hyperparameters settled: call it to maximise."""

    entry: Entry
    settings: Mapping[str, Value]

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.entry.name

    def __call__(
        self, oracle: Oracle, x0: Tensor, *, budget: Budget, box: Box, generator: Generator, record: bool = False
    ) -> Trace:
        """Climb from the start points x0 (B, q, d), never outside the box, never beyond the budget."""
        solve = self.entry.solver(**self.settings)
        return solve(oracle, x0, budget=budget, box=box, generator=generator, record=record)
