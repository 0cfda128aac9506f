"""Priors that were tried beside the library's: lengthscales of choices and switches, and less noise.

A plugin of the study: `compbo study run --plugin benchmarks.defaults.priors --grid benchmarks/defaults/priors.toml`.
Method `priors-NAME` is the default with `priors=NAME`, `compbo-paper-priors` with those of the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method
from compbo.surrogate import priors as library
from compbo.surrogate.priors import Gamma, LogNormal, PriorSet, paper

if TYPE_CHECKING:
    from collections.abc import Callable


def shared_choices_4(dimensions: int) -> PriorSet:
    """Lengthscales of choices and switches four times as long as the paper's."""
    return paper(dimensions)._replace(choice=Gamma(3.0, 6.0 / 4.0))


def less_noise(dimensions: int) -> PriorSet:
    """Those of the paper, with noise ~ Gamma(1.1, 30), as Optuna's Gaussian process has it."""
    return paper(dimensions)._replace(noise=Gamma(1.1, 30.0))


def log_normal_noise(dimensions: int) -> PriorSet:
    """Those of the paper, with noise ~ LogNormal(-4, 1), as BoTorch has it."""
    return paper(dimensions)._replace(noise=LogNormal(-4.0, 1.0))


TRIED: dict[str, Callable[[int], PriorSet]] = {
    "shared-choices-4": shared_choices_4,
    "less-noise": less_noise,
    "log-normal-noise": log_normal_noise,
}


library.PRIOR_SETS.update(TRIED)
register_method("compbo-paper-priors", MethodKind(DefaultMethod, options=settings_with(priors="paper")))
for tried in TRIED:
    register_method(f"priors-{tried}", MethodKind(DefaultMethod, options=settings_with(priors=tried)))
