"""Hyperparameters: a default, the range in which they make sense, and the range in which they are tuned.

Tuning domains are the paper's two tables with their slips corrected: SCGA and ASCGA learn at LU(1e-4, 1), Adadelta's
rho is uniform, and the factor of the exponential schedule is 1 - LU(1e-7, 0.3), so what is tuned is the drop, not the
factor. SGA's momentum begins at 1e-6 instead of 0, because nesterov needs some.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.space import Parameter

Value = float | int | bool


@dataclass(frozen=True)
class Hyperparameter:
    """One number (or switch) of an optimiser."""

    default: Value
    about: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    kind: Literal["float", "int", "bool"] = "float"
    tuned: tuple[float, float, Literal["linear", "log"]] | None = None  # None for a switch that is tuned as such
    is_tuned: bool = False

    @property
    def range(self) -> str:
        """The values it may take, in words."""
        if self.kind == "bool":
            return "True or False"
        left = "(" if self.low_open or math.isinf(self.low) else "["
        right = ")" if self.high_open or math.isinf(self.high) else "]"
        number = "a whole number in" if self.kind == "int" else "in"
        return f"{number} {left}{self.low:g}, {self.high:g}{right}"

    def check(self, owner: str, name: str, value: object) -> Value:
        """The value as it will be used; a ValueError that names the range if it is outside."""
        if isinstance(value, bool):
            if self.kind == "bool":
                return value
        elif self.kind != "bool" and isinstance(value, numbers.Real):
            number = float(value)
            whole = self.kind != "int" or number.is_integer()
            above = self.low < number or (self.low == number and not self.low_open)
            below = number < self.high or (number == self.high and not self.high_open)
            if whole and above and below and math.isfinite(number):
                return int(number) if self.kind == "int" else number
        raise ValueError(f"{owner}: {name} must be {self.range}, got {value!r}.")

    def parameter(self) -> Parameter | None:
        """The tuning domain as a parameter of a search space; None if it is not tuned."""
        from compbo.space import Bool, Float

        if self.tuned is not None:
            low, high, scale = self.tuned
            return Float(low, high, scale=scale)
        return Bool() if self.is_tuned else None


def _positive(default: float, about: str, low: float, high: float, scale: Literal["linear", "log"]) -> Hyperparameter:
    return Hyperparameter(default, about, low=0.0, low_open=True, tuned=(low, high, scale))


def _share(
    default: float,
    about: str,
    tuned: tuple[float, float, Literal["linear", "log"]] | None,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> Hyperparameter:
    return Hyperparameter(default, about, 0.0, 1.0, low_open, high_open, tuned=tuned)


LR = _positive(0.03, "learning rate", 1e-5, 0.3, "log")
LR_DROP = _share(
    0.0, "drop of the learning rate per step: lr_t = lr (1 - lr_drop)^(t-1)", (1e-7, 0.3, "log"), high_open=True
)
WEIGHT_DECAY = Hyperparameter(0.0, "w_d, pull towards the origin", low=0.0, tuned=(1e-8, 0.1, "log"))
EPS = Hyperparameter(1e-8, "epsilon, keeps phi2 away from 0", low=0.0, low_open=True)
MOMENTUM = _share(0.0, "rho, weight of the past moves", (0.0, 1.0, "linear"))
BETA1 = _share(0.9, "beta_1, weight of the past gradients", (0.05, 0.999, "linear"), high_open=True)
BETA2 = _share(0.999, "beta_2, weight of the past squares", (0.9, 1 - 1e-6, "log"), high_open=True)
TRACKING = _share(0.3, "beta, weight of the newest columns in zeta", (0.001, 0.999, "log"), low_open=True)

SGA = {
    "lr": LR,
    "momentum": replace(MOMENTUM, tuned=(1e-6, 1.0, "linear")),
    "dampening": _share(0.0, "Delta, part of the gradient kept out of the momentum, if any", (0.0, 1.0, "linear")),
    "nesterov": Hyperparameter(False, "look ahead along the momentum, which it needs", kind="bool", is_tuned=True),
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
}
ADAGRAD = {
    "lr": LR,
    "lr_d": Hyperparameter(
        0.0, "decay of the learning rate: lr / (1 + (t-1) lr_d)", low=0.0, tuned=(1e-7, 10.0, "log")
    ),
    "delta": Hyperparameter(0.0, "initial sum of squares", low=0.0, tuned=(1e-8, 0.3, "log")),
    "weight_decay": WEIGHT_DECAY,
    "eps": replace(EPS, default=1e-10),
}
RMSPROP = {
    "lr": LR,
    "alpha": _share(0.99, "weight of the past squares", (1e-6, 0.3, "log"), high_open=True),
    "momentum": MOMENTUM,
    "centering": Hyperparameter(
        False, "divide by the deviation instead of the root mean square", kind="bool", is_tuned=True
    ),
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
    "eps": EPS,
}
ADAM = {"lr": LR, "beta1": BETA1, "beta2": BETA2, "weight_decay": WEIGHT_DECAY, "lr_drop": LR_DROP, "eps": EPS}
ADADELTA = {
    "lr": LR,
    "rho": _share(0.9, "weight of the past squares", (0.0, 0.999, "linear"), high_open=True),
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
    "eps": replace(EPS, default=1e-6),
}
RPROP = {
    "lr": replace(LR, about="first step, cut to the largest"),
    "eta_minus": _share(0.5, "eta_1, factor of a step whose gradient turned", (0.0, 1.0, "linear")),
    "eta_plus": Hyperparameter(1.2, "eta_2, factor of a step whose gradient held", low=1.0, tuned=(1.0, 3.0, "linear")),
    "largest": _share(0.25, "largest step", None, low_open=True),
    "lr_drop": LR_DROP,
}
ADAMOS = {
    "lr": replace(LR, high=1.0, tuned=(1e-5, 1.0, "log")),
    "mu": _share(0.9, "base of gamma1_t", (0.1, 0.999, "log"), high_open=True),
    "C_gamma": _share(1.0, "factor of gamma1_t", (0.5, 1.0, "linear")),
    "alpha_d": Hyperparameter(0.2, "exponent of the step", low=0.0, tuned=(0.02, 0.5, "linear")),
    "mu_d": Hyperparameter(1.0, "speed of gamma1_t", low=1e-3, tuned=(0.8, 1.2, "linear")),
    "gamma2_d": Hyperparameter(0.4, "exponent of gamma2_t", low=0.0, tuned=(0.2, 0.8, "linear")),
    "eps": EPS,
}
CADAM = {**ADAMOS, "beta": TRACKING}
NASA = {
    "a": _positive(1.0, "speed of the averaged gradient", 0.1, 10.0, "linear"),
    "b": _positive(1.0, "speed of zeta", 0.1, 10.0, "linear"),
    "beta": _positive(0.5, "inverse step of the projected move", 0.1, 10.0, "linear"),
    "gamma": _share(0.6, "exponent of tau_t", (0.5, 1.0, "linear")),
}
SCGA = {
    "lr": replace(LR, default=3.0, tuned=(1e-4, 1.0, "log")),
    "lr_d": Hyperparameter(0.75, "exponent of the step", low=0.0, tuned=(0.4, 0.95, "linear")),
    "beta": replace(TRACKING, default=0.9, tuned=(0.1, 0.999, "log")),
    "beta_d": Hyperparameter(0.5, "exponent of b_t", low=0.0, high=10.0, tuned=(0.2, 0.8, "linear")),
}
ASCGA = {
    **SCGA,
    "lr_d": replace(SCGA["lr_d"], default=5 / 7),
    "beta_d": replace(SCGA["beta_d"], default=4 / 7, tuned=(0.25, 0.85, "linear")),
}
SCSC = {
    "lr": replace(SCGA["lr"], tuned=(1e-3, 10.0, "log")),
    "lr_d": replace(SCGA["lr_d"], default=0.5),
    "beta": replace(TRACKING, default=0.9),
}
SCSC_ADAM = {
    "lr": LR,
    "beta1": BETA1,
    "beta2": BETA2,
    "lr_drop": LR_DROP,
    "eps": EPS,
    "beta": replace(TRACKING, default=0.9),
}
SOX = {**ADAMOS, "lr": replace(ADAMOS["lr"], default=0.1), "beta": replace(TRACKING, default=0.9)}
MSVR = {**SOX, "beta": replace(TRACKING, default=0.03, high_open=True)}
LBFGSB = {
    "maxcor": Hyperparameter(10, "curvature pairs kept", low=1, kind="int"),
    "ftol": Hyperparameter(2.2e-9, "relative gain at which a restart has converged", low=0.0),
    "gtol": Hyperparameter(1e-5, "projected gradient at which a restart has converged", low=0.0),
}
CMA_ES = {"sigma": _share(0.03, "initial step, as a part of the box", None, low_open=True)}
DE = {
    "F": Hyperparameter(0.2, "scale of a difference", low=0.0, high=2.0, low_open=True, high_open=True),
    "p_mutation": _share(0.5, "chance of a coordinate to mutate", None, low_open=True),
}


def with_defaults(table: Mapping[str, Hyperparameter], **defaults: Value) -> dict[str, Hyperparameter]:
    """The same hyperparameters with other defaults."""
    return {**table, **{name: replace(table[name], default=value) for name, value in defaults.items()}}
