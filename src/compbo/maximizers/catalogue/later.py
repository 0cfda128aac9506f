"""Methods from after the paper: better trackers, under the rules that are already there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compbo.maximizers.ascend import Ascent
from compbo.maximizers.catalogue.compositional import SCGA, ZETA_UPDATE
from compbo.maximizers.catalogue.first_order import ADAM, ADAMOS, build_adam, build_adamos
from compbo.maximizers.entry import Entry
from compbo.maximizers.hyperparameters import TRACKING, with_defaults
from compbo.maximizers.rules.sga import sga
from compbo.maximizers.schedules import constant, power
from compbo.maximizers.trackers import ZetaUpdate, corrected, multiblock, selective

CHEN = "Chen, Sun and Yin, IEEE Transactions on Signal Processing 69, 2021"
WANG = "Wang and Yang, ICML 2022"
JIANG = "Jiang, Li, Wang, Zhang and Yang, NeurIPS 2022"

# SCSC -------------------------------------------------------------------------------------------------------------

SCSC = {
    "lr": replace(SCGA["lr"], default=3.0, domain=(1e-3, 10.0, "log")),
    "lr_d": replace(SCGA["lr_d"], default=0.5),
    "beta": replace(TRACKING, default=0.9),
    "zeta_update": ZETA_UPDATE,
}
SCSC_ADAM = {
    **{name: ADAM[name] for name in ("lr", "beta1", "beta2", "lr_drop", "eps")},
    **{name: SCSC[name] for name in ("beta", "zeta_update")},
}


def build_scsc(*, lr: float, lr_d: float, beta: float, zeta_update: ZetaUpdate) -> Ascent:
    """SCSC: plain steps lr t^-lr_d, zeta corrected by the change of g on the same sample."""
    return Ascent(sga(power(lr, lr_d)), corrected(constant(beta), zeta_update))


def build_scsc_adam(*, beta: float, zeta_update: ZetaUpdate, **adam: Any) -> Ascent:
    """SCSC under the Adam rule."""
    return build_adam(**adam, tracker=corrected(constant(beta), zeta_update))


# SOX and MSVR -----------------------------------------------------------------------------------------------------

SOX = with_defaults({**ADAMOS, "beta": TRACKING}, lr=0.1, beta=0.9)
MSVR = {**SOX, "beta": replace(TRACKING, default=0.03, high_open=True)}


def build_sox(*, beta: float, **adamos: Any) -> Ascent:
    """The selective tracker of SOX under the AdamOS rule."""
    return build_adamos(**adamos, tracker=selective(constant(beta)))


def build_msvr(*, beta: float, **adamos: Any) -> Ascent:
    """The MSVR tracker under the AdamOS rule."""
    return build_adamos(**adamos, tracker=multiblock(constant(beta)))


ENTRIES = [
    Entry("SCSC", "Comp", SCSC, build_scsc, CHEN, after_paper=True),
    Entry("SCSC-Adam", "Comp", SCSC_ADAM, build_scsc_adam, CHEN, after_paper=True),
    Entry("SOX", "Comp", SOX, build_sox, WANG, after_paper=True),
    Entry("MSVR", "Comp", MSVR, build_msvr, JIANG, after_paper=True),
]
