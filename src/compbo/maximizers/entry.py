"""A row of the catalogue, and the maximizer it becomes with its hyperparameters settled."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from compbo.maximizers.climb import Traits, run_within
from compbo.types import FORMS, POOL_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Generator, Tensor

    from compbo.maximizers.climb import Climb
    from compbo.maximizers.hyperparameters import Hyperparameter, Value
    from compbo.space import Parameter
    from compbo.types import Box, Budget, Form, Oracle, Trace

THE_PAPER = "Grosnit et al., Journal of Machine Learning Research 22, 2021"


@dataclass(frozen=True)
class Entry:
    """One row of the catalogue: a name, what is built under it, and on which samples it works.

    The other columns (order, rule, tracker, samples, category) are read off what is built.

    Args:
        name: what users call it.
        form: which samples the oracle is to be built on.
        hyperparameters: by name, each with its default and its domains.
        build: called with one keyword argument per hyperparameter, makes the climb; a ValueError if they do not go
            together.
        citation: where the method was published.
        after_paper: whether it is missing in the paper.
    """

    name: str
    form: Form
    hyperparameters: Mapping[str, Hyperparameter]
    build: Callable[..., Climb]
    citation: str
    after_paper: bool = False

    def __post_init__(self) -> None:
        """Keep a read-only mapping of its own (rows are made of shared ones), and refuse what cannot be built."""
        object.__setattr__(self, "hyperparameters", MappingProxyType(dict(self.hyperparameters)))
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"Entry: name must be a text that is not empty, got {self.name!r}.")
        if self.form not in FORMS:
            raise ValueError(f"{self.name}: form must be one of {', '.join(FORMS)}, got {self.form!r}.")
        traits = self.traits
        if not isinstance(traits, Traits):
            raise ValueError(f"{self.name}: what build makes needs `traits`, a compbo.maximizers.Traits.")
        if traits.remembers and self.form not in ("Comp", "ME"):
            raise ValueError(f"{self.name}: a tracker that remembers needs the form Comp or ME, got {self.form}.")

    def __reduce__(self) -> tuple[type[Entry], tuple[Any, ...]]:
        """Copies and pickles are made anew: a read-only view cannot be pickled."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self), tuple({**values, "hyperparameters": dict(self.hyperparameters)}.values())

    @property
    def traits(self) -> Traits:
        """What the climb with the default hyperparameters is: its order, rule and tracker."""
        try:
            return self.build(**self.defaults).traits
        except (TypeError, AttributeError) as error:
            known = ", ".join(self.hyperparameters) or "none"
            raise ValueError(
                f"{self.name}: build must take the hyperparameters ({known}) by name and return a climb: {error}."
            ) from error

    @property
    def order(self) -> Literal[0, 1, 2]:
        """0: values only, 1: gradients, 2: gradients and curvature."""
        return self.traits.order

    @property
    def rule(self) -> str:
        """Name of the update rule, or of the method as a whole."""
        return self.traits.rule

    @property
    def tracker(self) -> str:
        """Name of the tracker of E[g]; `none` where only the current samples are used."""
        return self.traits.tracker

    @property
    def samples(self) -> Literal["fresh", "minibatch", "fixed"]:
        """What a step sees: new draws, a minibatch of the pool, or one draw that stays for the run."""
        if self.traits.one_draw:
            return "fixed"
        return "minibatch" if self.form in POOL_FORMS else "fresh"

    @property
    def category(self) -> Literal["NonComp", "Comp", "extended"]:
        """As in the paper's Table 1; `extended`: from after the paper."""
        if self.after_paper:
            return "extended"
        return "Comp" if self.form in ("Comp", "ME") else "NonComp"

    @property
    def defaults(self) -> dict[str, Value]:
        """The hyperparameters' default values."""
        return {name: h.default for name, h in self.hyperparameters.items()}

    @property
    def domain(self) -> dict[str, Parameter]:
        """The tuning domain, as parameters of a search space."""
        domain = {name: h.parameter() for name, h in self.hyperparameters.items()}
        return {name: parameter for name, parameter in domain.items() if parameter is not None}

    @property
    def paper_domain(self) -> dict[str, Parameter]:
        """The domain in which the paper tunes it; empty for what came after the paper."""
        domain = {name: h.paper_parameter() for name, h in self.hyperparameters.items() if not self.after_paper}
        return {name: parameter for name, parameter in domain.items() if parameter is not None}

    def settled(self, **given: Any) -> dict[str, Value]:
        """Defaults with the given values; a ValueError for what is unknown, out of range or does not go together."""
        for name in given:
            if name not in self.hyperparameters:
                known = ", ".join(self.hyperparameters) or "none"
                raise ValueError(f"{self.name} has no hyperparameter {name!r}; it has: {known}.")
        checked = {name: self.hyperparameters[name].check(self.name, name, value) for name, value in given.items()}
        settled = {**self.defaults, **checked}
        try:
            self.build(**settled)  # refuses values that do not go together
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error
        return settled


@dataclass(frozen=True)
class Maximizer:
    """An entry with its hyperparameters settled: call it to maximise.

    Args:
        entry: the row of the catalogue.
        hyperparameters: those that differ from the defaults; afterwards all of them, read-only.

    >>> import compbo
    >>> compbo.Maximizer(compbo.CATALOGUE["SCGA"], {"lr": 1.0}).hyperparameters["lr"]
    1.0
    """

    entry: Entry
    hyperparameters: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Fill in the defaults, and refuse what the entry refuses."""
        settled = self.entry.settled(**self.hyperparameters)
        object.__setattr__(self, "hyperparameters", MappingProxyType(settled))

    def __reduce__(self) -> tuple[type[Maximizer], tuple[Any, ...]]:
        """Copies and pickles are made anew: a read-only view cannot be pickled."""
        return type(self), (self.entry, dict(self.hyperparameters))

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.entry.name

    @property
    def form(self) -> Form:
        """Which samples the oracle is to be built on."""
        return self.entry.form

    def __call__(
        self, oracle: Oracle, x0: Tensor, *, budget: Budget, box: Box, generator: Generator, record: bool = False
    ) -> Trace:
        """Climb from the start points x0 (B, q, d), inside the box and within the budget.

        record: also keep the value (T, B) and the point (T, B, q, d) after every step.
        """
        climb = self.entry.build(**self.hyperparameters)
        return run_within(climb, oracle, x0, budget=budget, box=box, generator=generator, record=record)
