"""The eight first-order rules of the paper, on fresh samples (-ERM) and on minibatches of a fixed pool (-FSM).

Every rule is a block: its hyperparameters with their tuning domains (the paper's table of non-compositional
optimisers, whose symbols stand in the descriptions; two of them are wider here), what they build, and its two rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from compbo.maximizers.ascend import Ascent
from compbo.maximizers.entry import THE_PAPER, Entry
from compbo.maximizers.hyperparameters import (
    EPS,
    LR,
    LR_DROP,
    WEIGHT_DECAY,
    Hyperparameter,
    nonnegative,
    share,
    switch,
    tuned_in,
    with_defaults,
)
from compbo.maximizers.rules.adadelta import adadelta
from compbo.maximizers.rules.adagrad import adagrad
from compbo.maximizers.rules.adam import adam
from compbo.maximizers.rules.adamos import adamos
from compbo.maximizers.rules.rmsprop import rmsprop
from compbo.maximizers.rules.rprop import rprop
from compbo.maximizers.rules.sga import sga
from compbo.maximizers.schedules import (
    constant,
    exponential,
    growing_memory,
    inverse_time,
    power,
    vanishing_momentum,
)
from compbo.maximizers.trackers import MEMORYLESS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compbo.maximizers.trackers import Tracker


def _rows(
    name: str, hyperparameters: Mapping[str, Hyperparameter], build: Callable[..., Ascent], citation: str
) -> list[Entry]:
    return [
        Entry(f"{name}-ERM", "ERM", hyperparameters, build, citation),
        Entry(f"{name}-FSM", "FSM", hyperparameters, build, citation),
    ]


# SGA --------------------------------------------------------------------------------------------------------------

SGA = {
    "lr": LR,
    # tuned from 1e-6 instead of 0: nesterov needs some
    "momentum": tuned_in(share(0.0, "rho, weight of the past moves", (0.0, 1.0, "linear")), (1e-6, 1.0, "linear")),
    "dampening": share(0.0, "Delta, part of the gradient kept out of the momentum, if any", (0.0, 1.0, "linear")),
    "nesterov": switch(False, "look ahead along the momentum, which it needs"),
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
}


def build_sga(
    *, lr: float, momentum: float, dampening: float, nesterov: bool, weight_decay: float, lr_drop: float
) -> Ascent:
    """SGA with an exponential decay of lr; ValueError for nesterov without momentum, as in `torch.optim.SGD`."""
    if nesterov and momentum == 0:
        raise ValueError("nesterov=True needs momentum > 0, got momentum 0.")
    return Ascent(sga(exponential(lr, 1 - lr_drop), momentum, dampening, nesterov, weight_decay))


# Adagrad ----------------------------------------------------------------------------------------------------------

ADAGRAD = {
    "lr": LR,
    "lr_decay": nonnegative(0.0, "lr_d, rate of decay: lr_t = lr / (1 + (t-1) lr_decay)", (1e-7, 10.0, "log")),
    "delta": nonnegative(0.0, "initial sum of squares", (1e-8, 0.3, "log")),
    "weight_decay": WEIGHT_DECAY,
    "eps": EPS,
}


def build_adagrad(*, lr: float, lr_decay: float, delta: float, weight_decay: float, eps: float) -> Ascent:
    """Adagrad with the step lr / (1 + (t-1) lr_decay)."""
    return Ascent(adagrad(inverse_time(lr, lr_decay), delta, weight_decay, eps))


# RMSprop ----------------------------------------------------------------------------------------------------------

RMSPROP = {
    "lr": LR,
    # the paper's values forget the squares of the past within a step; a logit scale also reaches values near 1
    "alpha": tuned_in(
        share(0.99, "weight of the past squares", (1e-6, 0.3, "log"), high_open=True), (1e-6, 0.999, "logit")
    ),
    "momentum": share(0.0, "rho, weight of the past moves", (0.0, 1.0, "linear")),
    "centering": switch(False, "divide by the deviation instead of the root mean square"),
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
    "eps": EPS,
}


def build_rmsprop(
    *, lr: float, alpha: float, momentum: float, centering: bool, weight_decay: float, lr_drop: float, eps: float
) -> Ascent:
    """RMSprop with an exponential decay of lr."""
    return Ascent(rmsprop(exponential(lr, 1 - lr_drop), alpha, momentum, centering, weight_decay, eps))


# Adam and AdamW ---------------------------------------------------------------------------------------------------

ADAM = {
    "lr": LR,
    "beta1": share(0.9, "beta_1, weight of the past gradients", (0.05, 0.999, "linear"), high_open=True),
    "beta2": share(0.999, "beta_2, weight of the past squares", (0.9, 1 - 1e-6, "log"), high_open=True),
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
    "eps": EPS,
}


def build_adam(
    *,
    lr: float,
    beta1: float,
    beta2: float,
    lr_drop: float,
    eps: float,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    tracker: Tracker = MEMORYLESS,
) -> Ascent:
    """Adam, or AdamW with `decoupled` weight decay."""
    rate = exponential(lr, 1 - lr_drop)
    return Ascent(adam(rate, constant(beta1), constant(beta2), weight_decay, eps, decoupled), tracker)


# Adadelta ---------------------------------------------------------------------------------------------------------

ADADELTA = {
    "lr": tuned_in(LR, (1e-5, 30.0, "log")),  # its steps begin at lr sqrt(eps)
    "rho": share(0.9, "weight of the past squares", (0.0, 0.999, "linear"), high_open=True),  # printed log-uniform
    "weight_decay": WEIGHT_DECAY,
    "lr_drop": LR_DROP,
    "eps": EPS,
}


def build_adadelta(*, lr: float, rho: float, weight_decay: float, lr_drop: float, eps: float) -> Ascent:
    """Adadelta with an exponential decay of lr."""
    return Ascent(adadelta(exponential(lr, 1 - lr_drop), rho, weight_decay, eps))


# Rprop ------------------------------------------------------------------------------------------------------------

RPROP = {
    "lr": Hyperparameter(0.1, "first step, cut to the largest", LR.low, LR.high, LR.low_open, domain=LR.domain),
    "eta_minus": share(0.5, "eta_1, factor of a step whose gradient turned", (0.0, 1.0, "linear")),
    "eta_plus": Hyperparameter(
        1.2, "eta_2, factor of a step whose gradient held", low=1.0, domain=(1.0, 3.0, "linear")
    ),
    "largest": share(0.25, "largest step", low_open=True),
    "lr_drop": LR_DROP,
}


def build_rprop(*, lr: float, eta_minus: float, eta_plus: float, largest: float, lr_drop: float) -> Ascent:
    """Rprop: steps begin at lr and grow up to `largest`."""
    return Ascent(rprop(exponential(lr, 1 - lr_drop), eta_minus, eta_plus, largest=largest))


# AdamOS -----------------------------------------------------------------------------------------------------------

ADAMOS = {
    "lr": Hyperparameter(0.03, "learning rate", 0.0, 1.0, low_open=True, domain=(1e-5, 1.0, "log")),
    "mu": share(0.9, "base of gamma1_t", (0.1, 0.999, "log"), high_open=True),
    "C_gamma": share(1.0, "factor of gamma1_t", (0.5, 1.0, "linear")),
    "alpha_d": nonnegative(0.2, "exponent of the step: lr t^-alpha_d", (0.02, 0.5, "linear")),
    "mu_d": Hyperparameter(1.0, "speed of gamma1_t = C_gamma mu^(mu_d t)", low=1e-3, domain=(0.8, 1.2, "linear")),
    "gamma2_d": nonnegative(0.4, "exponent of gamma2_t", (0.2, 0.8, "linear")),
    "eps": EPS,
}


def build_adamos(
    *,
    lr: float,
    mu: float,
    C_gamma: float,
    alpha_d: float,
    mu_d: float,
    gamma2_d: float,
    eps: float,
    tracker: Tracker = MEMORYLESS,
) -> Ascent:
    """AdamOS: the rule of CAdam, here without its tracker."""
    gamma1 = vanishing_momentum(C_gamma, mu, mu_d)
    return Ascent(adamos(power(lr, alpha_d), gamma1, growing_memory(lr, gamma2_d, gamma1), eps), tracker)


ENTRIES = [
    *_rows("SGA", with_defaults(SGA, lr=0.3, momentum=0.9), build_sga, "Robbins and Monro, 1951"),
    *_rows(
        "Adagrad", with_defaults(ADAGRAD, lr=0.03, eps=1e-10), build_adagrad, "Duchi, Hazan and Singer, JMLR 12, 2011"
    ),
    *_rows("RMSprop", with_defaults(RMSPROP, lr=0.003), build_rmsprop, "Tieleman and Hinton, 2012"),
    *_rows("Adam", ADAM, build_adam, "Kingma and Ba, ICLR 2015"),
    *_rows("Adadelta", with_defaults(ADADELTA, lr=10.0, eps=1e-6), build_adadelta, "Zeiler, arXiv 1212.5701, 2012"),
    *_rows("Rprop", RPROP, build_rprop, "Riedmiller and Braun, ICNN 1993"),
    *_rows(
        "AdamW",
        with_defaults(ADAM, weight_decay=0.01),
        partial(build_adam, decoupled=True),
        "Loshchilov and Hutter, ICLR 2019",
    ),
    *_rows("AdamOS", ADAMOS, build_adamos, THE_PAPER),
]
