"""The paper's first-order compositional methods, on columns of a pool and, as -ME, on fresh samples.

Tuning domains are the paper's table of compositional optimisers, whose symbols are the names here.
"""

from __future__ import annotations

from typing import Any

from compbo.maximizers.ascend import Ascent
from compbo.maximizers.catalogue.first_order import ADAM, ADAMOS, build_adam, build_adamos
from compbo.maximizers.entry import THE_PAPER, Entry
from compbo.maximizers.hyperparameters import TRACKING, Hyperparameter, nonnegative, positive, share
from compbo.maximizers.rules.averaged import averaged
from compbo.maximizers.rules.sga import sga
from compbo.maximizers.schedules import constant, nasa_step, power, scaled
from compbo.maximizers.trackers import extrapolated, smoothed

WANG = "Wang, Fang and Liu, Mathematical Programming 161, 2017"
TUTUNOV = "Tutunov, Li, Cowen-Rivers, Wang and Bou-Ammar, arXiv 2002.03755, 2020"
GHADIMI = "Ghadimi, Ruszczynski and Wang, SIAM Journal on Optimization 30, 2020"

# SCGA and ASCGA ---------------------------------------------------------------------------------------------------


def _decaying(lr_d: float, beta_d: Hyperparameter) -> dict[str, Hyperparameter]:
    """Steps lr t^-lr_d and weights beta t^-beta_d; lr is printed LU(-4, 1), which means 1e-4 to 1."""
    return {
        "lr": positive(3.0, "learning rate", (1e-4, 1.0, "log")),
        "lr_d": nonnegative(lr_d, "exponent of the step: lr t^-lr_d", (0.4, 0.95, "linear")),
        "beta": share(0.9, TRACKING.about, (0.1, 0.999, "log"), low_open=True),
        "beta_d": beta_d,
    }


SCGA = _decaying(3 / 4, Hyperparameter(1 / 2, "exponent of b_t", 0.0, 10.0, tuned=(0.2, 0.8, "linear")))
ASCGA = _decaying(5 / 7, Hyperparameter(4 / 7, "exponent of b_t", 0.0, 10.0, tuned=(0.25, 0.85, "linear")))


def build_scga(*, lr: float, lr_d: float, beta: float, beta_d: float) -> Ascent:
    """SCGA: plain steps lr t^-lr_d, zeta smoothed with b_t = beta t^-beta_d."""
    return Ascent(sga(power(lr, lr_d)), smoothed(power(beta, beta_d)))


def build_ascga(*, lr: float, lr_d: float, beta: float, beta_d: float) -> Ascent:
    """ASCGA: plain steps lr t^-lr_d, zeta by extrapolation with b_t = beta t^-beta_d."""
    return Ascent(sga(power(lr, lr_d)), extrapolated(power(beta, beta_d)))


# CAdam ------------------------------------------------------------------------------------------------------------

CADAM = {**ADAMOS, "beta": TRACKING}


def build_cadam(*, beta: float, **adamos: Any) -> Ascent:
    """CAdam: the AdamOS rule, zeta by extrapolation with b_t = beta."""
    return build_adamos(**adamos, tracker=extrapolated(constant(beta)))


# NASA -------------------------------------------------------------------------------------------------------------

NASA = {
    "a": positive(1.0, "speed of the averaged gradient", (0.1, 10.0, "linear")),
    "b": positive(1.0, "speed of zeta", (0.1, 10.0, "linear")),
    "beta": positive(0.5, "inverse step of the projected move", (0.1, 10.0, "linear")),
    "gamma": share(0.6, "exponent of tau_t", (0.5, 1.0, "linear")),
}


def build_nasa(*, a: float, b: float, beta: float, gamma: float) -> Ascent:
    """NASA: averaged gradient, averaged zeta, one time scale tau_t."""
    tau = nasa_step(a, b, gamma)
    return Ascent(averaged(tau, a, beta), smoothed(scaled(tau, b)))


ENTRIES = [
    Entry("SCGA", "Comp", SCGA, build_scga, WANG),
    Entry("ASCGA", "Comp", ASCGA, build_ascga, WANG),
    Entry("CAdam", "Comp", CADAM, build_cadam, TUTUNOV),
    Entry("NASA", "Comp", NASA, build_nasa, GHADIMI),
    Entry("Nested-MC", "Comp", ADAM, build_adam, THE_PAPER),  # Adam on minibatches of the nested form
    Entry("CAdam-ME", "ME", CADAM, build_cadam, THE_PAPER),
    Entry("NASA-ME", "ME", NASA, build_nasa, THE_PAPER),
    Entry("Nested-MC-ME", "ME", ADAM, build_adam, THE_PAPER),
]
