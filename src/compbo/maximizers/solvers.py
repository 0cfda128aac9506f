"""From hyperparameters to a maximisation: which schedules, rule and tracker make up a name.

One function per combination, one keyword argument per hyperparameter; the catalogue's rows name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from compbo.maximizers import rules
from compbo.maximizers.ascend import ascend
from compbo.maximizers.lbfgsb import lbfgsb
from compbo.maximizers.population import cma_es, differential_evolution
from compbo.maximizers.random_search import random_search
from compbo.maximizers.schedules import (
    constant,
    exponential,
    growing_memory,
    inverse_time,
    nasa_step,
    power,
    scaled,
    vanishing_momentum,
)
from compbo.maximizers.trackers import corrected, extrapolated, multiblock, selective, smoothed

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.maximizers.entry import Solver
    from compbo.maximizers.rules import Rule
    from compbo.maximizers.trackers import Tracker
    from compbo.types import Box, Budget, Oracle, Trace


@dataclass(frozen=True)
class Ascent:
    """A gradient method: a rule and, if it tracks E[g], a tracker."""

    rule: Rule
    tracker: Tracker | None = None

    def __call__(
        self, oracle: Oracle, x0: Tensor, *, budget: Budget, box: Box, generator: Generator, record: bool = False
    ) -> Trace:
        """Climb from x0 (B, q, d)."""
        return ascend(oracle, self.rule, self.tracker, x0, budget=budget, box=box, generator=generator, record=record)


def sga_solver(
    *, lr: float, momentum: float, dampening: float, nesterov: bool, weight_decay: float, lr_drop: float
) -> Ascent:
    """SGA with momentum; without it there is nothing to look ahead along (`torch.optim.SGD` refuses it too)."""
    if nesterov and momentum == 0:
        raise ValueError("nesterov=True needs momentum > 0, got momentum 0.")
    return Ascent(rules.sga(exponential(lr, 1 - lr_drop), momentum, dampening, nesterov, weight_decay))


def adagrad_solver(*, lr: float, lr_d: float, delta: float, weight_decay: float, eps: float) -> Ascent:
    """Adagrad."""
    return Ascent(rules.adagrad(inverse_time(lr, lr_d), delta, weight_decay, eps))


def rmsprop_solver(
    *, lr: float, alpha: float, momentum: float, centering: bool, weight_decay: float, lr_drop: float, eps: float
) -> Ascent:
    """RMSprop."""
    return Ascent(rules.rmsprop(exponential(lr, 1 - lr_drop), alpha, momentum, centering, weight_decay, eps))


def adam_solver(
    *, lr: float, beta1: float, beta2: float, weight_decay: float, lr_drop: float, eps: float, decoupled: bool = False
) -> Ascent:
    """Adam; on the samples of a compositional form it is Nested-MC."""
    schedule = exponential(lr, 1 - lr_drop)
    return Ascent(rules.adam(schedule, constant(beta1), constant(beta2), weight_decay, eps, decoupled))


adamw_solver = partial(adam_solver, decoupled=True)


def adadelta_solver(*, lr: float, rho: float, weight_decay: float, lr_drop: float, eps: float) -> Ascent:
    """Adadelta."""
    return Ascent(rules.adadelta(exponential(lr, 1 - lr_drop), rho, weight_decay, eps))


def rprop_solver(*, lr: float, eta_minus: float, eta_plus: float, largest: float, lr_drop: float) -> Ascent:
    """Rprop; steps begin at lr and never get larger than `largest`."""
    return Ascent(rules.rprop(exponential(lr, 1 - lr_drop), eta_minus, eta_plus, largest=largest))


def _adamos_rule(
    lr: float, mu: float, C_gamma: float, alpha_d: float, mu_d: float, gamma2_d: float, eps: float
) -> Rule:
    gamma1 = vanishing_momentum(C_gamma, mu, mu_d)
    return rules.adamos(power(lr, alpha_d), gamma1, growing_memory(lr, gamma2_d, gamma1), eps)


def adamos_solver(**numbers: float) -> Ascent:
    """AdamOS: the rule of CAdam without its tracker."""
    return Ascent(_adamos_rule(**numbers))


def cadam_solver(*, beta: float, **numbers: float) -> Ascent:
    """CAdam: the AdamOS rule, zeta by extrapolation with b_t = beta."""
    return Ascent(_adamos_rule(**numbers), extrapolated(constant(beta)))


def sox_solver(*, beta: float, **numbers: float) -> Ascent:
    """The selective tracker of SOX under the AdamOS rule."""
    return Ascent(_adamos_rule(**numbers), selective(constant(beta)))


def msvr_solver(*, beta: float, **numbers: float) -> Ascent:
    """The MSVR tracker under the AdamOS rule."""
    return Ascent(_adamos_rule(**numbers), multiblock(constant(beta)))


def nasa_solver(*, a: float, b: float, beta: float, gamma: float) -> Ascent:
    """NASA: averaged gradient, averaged zeta, one time scale tau_t."""
    tau = nasa_step(a, b, gamma)
    return Ascent(rules.averaged(tau, a, beta), smoothed(scaled(tau, b)))


def scga_solver(*, lr: float, lr_d: float, beta: float, beta_d: float) -> Ascent:
    """SCGA: plain steps lr t^-lr_d, zeta smoothed with beta t^-beta_d."""
    return Ascent(rules.sga(power(lr, lr_d)), smoothed(power(beta, beta_d)))


def ascga_solver(*, lr: float, lr_d: float, beta: float, beta_d: float) -> Ascent:
    """ASCGA: plain steps lr t^-lr_d, zeta by extrapolation with beta t^-beta_d."""
    return Ascent(rules.sga(power(lr, lr_d)), extrapolated(power(beta, beta_d)))


def scsc_solver(*, lr: float, lr_d: float, beta: float) -> Ascent:
    """SCSC: plain steps, zeta corrected by the change of g on the same sample."""
    return Ascent(rules.sga(power(lr, lr_d)), corrected(constant(beta)))


def scsc_adam_solver(*, lr: float, beta1: float, beta2: float, lr_drop: float, eps: float, beta: float) -> Ascent:
    """SCSC under the Adam rule."""
    rule = rules.adam(exponential(lr, 1 - lr_drop), constant(beta1), constant(beta2), eps=eps)
    return Ascent(rule, corrected(constant(beta)))


def lbfgsb_solver(*, maxcor: int, ftol: float, gtol: float) -> Solver:
    """L-BFGS-B on a fixed sample."""
    return partial(lbfgsb, maxcor=maxcor, ftol=ftol, gtol=gtol)


def cma_solver(*, sigma: float) -> Solver:
    """CMA-ES on a fixed sample."""
    return partial(cma_es, sigma=sigma)


def de_solver(*, F: float, p_mutation: float) -> Solver:
    """Differential evolution on a fixed sample."""
    return partial(differential_evolution, F=F, p_mutation=p_mutation)


def random_solver() -> Solver:
    """Random search on a fixed sample."""
    return random_search
