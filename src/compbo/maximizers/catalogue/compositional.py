"""The paper's first-order compositional methods, on columns of a pool and, as -ME, on fresh samples.

Tuning domains are the paper's table of compositional optimisers, whose symbols are the names here; the learning rate of
SCGA and ASCGA may be larger than there. `zeta_update` exists on columns of a pool alone: where all columns are drawn at
every step, its values mean the same.
"""

from __future__ import annotations

from typing import Any

from compbo.maximizers.ascend import Ascent
from compbo.maximizers.catalogue.first_order import ADAM, ADAMOS, build_adam, build_adamos
from compbo.maximizers.entry import THE_PAPER, Entry
from compbo.maximizers.hyperparameters import (
    TRACKING,
    Hyperparameter,
    choice,
    nonnegative,
    positive,
    share,
    tuned_in,
)
from compbo.maximizers.rules.averaged import averaged
from compbo.maximizers.rules.sga import sga
from compbo.maximizers.schedules import constant, nasa_step, power, scaled
from compbo.maximizers.trackers import ZETA_UPDATES, ZetaUpdate, extrapolated, smoothed

WANG = "Wang, Fang and Liu, Mathematical Programming 161, 2017"
TUTUNOV = "Tutunov, Li, Cowen-Rivers, Wang and Bou-Ammar, arXiv 2002.03755, 2020"
GHADIMI = "Ghadimi, Ruszczynski and Wang, SIAM Journal on Optimization 30, 2020"

ZETA_UPDATE = choice("auto", "columns of zeta that a step changes: all (paper), drawn, or as f wants it", ZETA_UPDATES)

# SCGA and ASCGA ---------------------------------------------------------------------------------------------------


def _decaying(lr: float, lr_d: float, beta_d: Hyperparameter) -> dict[str, Hyperparameter]:
    """Steps lr t^-lr_d and weights beta t^-beta_d; lr is printed LU(-4, 1), which means 1e-4 to 1."""
    return {
        "lr": tuned_in(positive(lr, "learning rate", (1e-4, 1.0, "log")), (1e-4, 10.0, "log")),
        "lr_d": nonnegative(lr_d, "exponent of the step: lr t^-lr_d", (0.4, 0.95, "linear")),
        "beta": share(0.9, TRACKING.about, (0.1, 0.999, "log"), low_open=True),
        "beta_d": beta_d,
        "zeta_update": ZETA_UPDATE,
    }


SCGA = _decaying(1.0, 3 / 4, Hyperparameter(1 / 2, "exponent of b_t", 0.0, 10.0, domain=(0.2, 0.8, "linear")))
ASCGA = _decaying(3.0, 5 / 7, Hyperparameter(4 / 7, "exponent of b_t", 0.0, 10.0, domain=(0.25, 0.85, "linear")))


def build_scga(*, lr: float, lr_d: float, beta: float, beta_d: float, zeta_update: ZetaUpdate) -> Ascent:
    """SCGA: plain steps lr t^-lr_d, zeta smoothed with b_t = beta t^-beta_d."""
    return Ascent(sga(power(lr, lr_d)), smoothed(power(beta, beta_d), zeta_update))


def build_ascga(*, lr: float, lr_d: float, beta: float, beta_d: float, zeta_update: ZetaUpdate) -> Ascent:
    """ASCGA: plain steps lr t^-lr_d, zeta by extrapolation with b_t = beta t^-beta_d."""
    return Ascent(sga(power(lr, lr_d)), extrapolated(power(beta, beta_d), zeta_update))


# CAdam ------------------------------------------------------------------------------------------------------------

CADAM_ME = {**ADAMOS, "beta": TRACKING}
CADAM = {**CADAM_ME, "zeta_update": ZETA_UPDATE}


def build_cadam(*, beta: float, zeta_update: ZetaUpdate = "auto", **adamos: Any) -> Ascent:
    """CAdam: the AdamOS rule, zeta by extrapolation with b_t = beta."""
    return build_adamos(**adamos, tracker=extrapolated(constant(beta), zeta_update))


# NASA -------------------------------------------------------------------------------------------------------------

NASA_ME = {
    "a": positive(1.0, "speed of the averaged gradient", (0.1, 10.0, "linear")),
    "b": positive(1.0, "speed of zeta", (0.1, 10.0, "linear")),
    "beta": positive(0.5, "inverse step of the projected move", (0.1, 10.0, "linear")),
    "gamma": share(0.6, "exponent of tau_t", (0.5, 1.0, "linear")),
}
NASA = {**NASA_ME, "zeta_update": ZETA_UPDATE}


def build_nasa(*, a: float, b: float, beta: float, gamma: float, zeta_update: ZetaUpdate = "auto") -> Ascent:
    """NASA: averaged gradient, averaged zeta, one time scale tau_t."""
    tau = nasa_step(a, b, gamma)
    return Ascent(averaged(tau, a, beta), smoothed(scaled(tau, b), zeta_update))


ENTRIES = [
    Entry("SCGA", "Comp", SCGA, build_scga, WANG),
    Entry("ASCGA", "Comp", ASCGA, build_ascga, WANG),
    Entry("CAdam", "Comp", CADAM, build_cadam, TUTUNOV),
    Entry("NASA", "Comp", NASA, build_nasa, GHADIMI),
    Entry("Nested-MC", "Comp", ADAM, build_adam, THE_PAPER),  # Adam on minibatches of the nested form
    Entry("CAdam-ME", "ME", CADAM_ME, build_cadam, THE_PAPER),
    Entry("NASA-ME", "ME", NASA_ME, build_nasa, THE_PAPER),
    Entry("Nested-MC-ME", "ME", ADAM, build_adam, THE_PAPER),
]
