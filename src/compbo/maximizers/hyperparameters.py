"""Hyperparameters: a default, the range in which they make sense, and the domain in which they are tuned.

What several families of the catalogue share stands here; the rest stands with its method. The paper's domains are its
two tables with their slips corrected. A tuning domain is the paper's, or a wider one where the default lies outside.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.space import Parameter

Value = float | int | bool | str
Domain = tuple[float, float, Literal["linear", "log", "logit"]]


@dataclass(frozen=True)
class Hyperparameter:
    """One number (or switch, or choice) of a maximizer.

    default: its type says what is allowed: True or False, whole numbers (10), real numbers (0.1) or a text.
    about: what it is, in words. low, high: the range, open where low_open or high_open says so.
    choices: the texts that are allowed. domain: where it is tuned (low, high, scale); True for a switch that is tuned;
    None: not tuned. paper_domain: where the paper tunes it; None: in the same domain.
    """

    default: Value
    about: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    choices: tuple[str, ...] = ()
    domain: Domain | Literal[True] | None = None
    paper_domain: Domain | Literal[True] | None = None

    def __post_init__(self) -> None:
        """Refuse a default that would be refused as a value."""
        self.check("Hyperparameter", "default", self.default)
        if self.paper_domain is None:
            object.__setattr__(self, "paper_domain", self.domain)

    @property
    def is_switch(self) -> bool:
        """Whether it is True or False."""
        return isinstance(self.default, bool)

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return isinstance(self.default, int) and not self.is_switch

    @property
    def range(self) -> str:
        """The values it may take, in words."""
        if self.is_switch:
            return "True or False"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        left = "(" if self.low_open or math.isinf(self.low) else "["
        right = ")" if self.high_open or math.isinf(self.high) else "]"
        number = "a whole number in" if self.is_whole else "in"
        return f"{number} {left}{self.low:g}, {self.high:g}{right}"

    def check(self, owner: str, name: str, value: object) -> Value:
        """The value as it will be used; a ValueError that names the range if it is outside."""
        if isinstance(value, bool):
            if self.is_switch:
                return value
        elif isinstance(value, str):
            if value in self.choices:
                return value
        elif not self.is_switch and not self.choices and isinstance(value, numbers.Real):
            number = float(value)
            whole = not self.is_whole or number.is_integer()
            above = self.low < number or (self.low == number and not self.low_open)
            below = number < self.high or (number == self.high and not self.high_open)
            if whole and above and below and math.isfinite(number):
                return int(number) if self.is_whole else number
        raise ValueError(f"{owner}: {name} must be {self.range}, got {value!r}.")

    def parameter(self) -> Parameter | None:
        """The tuning domain as a parameter of a search space; None if it is not tuned."""
        return _as_parameter(self.domain)

    def paper_parameter(self) -> Parameter | None:
        """The same of the paper's domain."""
        return _as_parameter(self.paper_domain)


def _as_parameter(domain: Domain | Literal[True] | None) -> Parameter | None:
    from compbo.space import Bool, Float

    if domain is None:
        return None
    if domain is True:
        return Bool()
    low, high, scale = domain
    return Float(low, high, scale=scale)


def positive(default: float, about: str, domain: Domain | None = None) -> Hyperparameter:
    """A number above 0, with its default, words about it, and its tuning domain."""
    return Hyperparameter(default, about, low=0.0, low_open=True, domain=domain)


def nonnegative(default: float, about: str, domain: Domain | None = None) -> Hyperparameter:
    """A number from 0 on, with its default, words about it, and its tuning domain."""
    return Hyperparameter(default, about, low=0.0, domain=domain)


def share(
    default: float,
    about: str,
    domain: Domain | None = None,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> Hyperparameter:
    """A number from 0 to 1, with its default, words about it, and its tuning domain.

    low_open, high_open: without 0, without 1.
    """
    return Hyperparameter(default, about, 0.0, 1.0, low_open, high_open, domain=domain)


def switch(default: bool, about: str) -> Hyperparameter:
    """True or False, with its default and words about it; both are tried when it is tuned."""
    return Hyperparameter(default, about, domain=True)


def choice(default: str, about: str, choices: tuple[str, ...]) -> Hyperparameter:
    """One of a few choices, texts, with its default and words about it; it is not tuned."""
    return Hyperparameter(default, about, choices=choices)


def tuned_in(hyperparameter: Hyperparameter, domain: Domain) -> Hyperparameter:
    """The same hyperparameter with another tuning domain; the former one becomes its paper_domain."""
    return replace(hyperparameter, domain=domain)


def with_defaults(table: Mapping[str, Hyperparameter], **defaults: Value) -> dict[str, Hyperparameter]:
    """The hyperparameters of a table with other defaults."""
    return {**table, **{name: replace(table[name], default=value) for name, value in defaults.items()}}


LR = positive(0.03, "learning rate", (1e-5, 0.3, "log"))
# The paper multiplies the rate by a factor per step, 1 - LU(1e-7, 0.3): what is tuned is the drop, not the factor.
LR_DROP = share(
    0.0, "drop of the learning rate per step: lr_t = lr (1 - lr_drop)^(t-1)", (1e-7, 0.3, "log"), high_open=True
)
WEIGHT_DECAY = nonnegative(0.0, "w_d, pull towards the origin", (1e-8, 0.1, "log"))
EPS = positive(1e-8, "epsilon, keeps phi2 away from 0")
TRACKING = share(0.3, "beta, weight of the newest columns in zeta", (0.001, 0.999, "log"), low_open=True)
