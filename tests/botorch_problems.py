"""Models and acquisition functions that the BoTorch tests share, in units far from the unit cube."""

from __future__ import annotations

import pytest
import torch
from botorch.acquisition.logei import qLogExpectedImprovement, qLogNoisyExpectedImprovement
from botorch.acquisition.monte_carlo import (
    qExpectedImprovement,
    qNoisyExpectedImprovement,
    qProbabilityOfImprovement,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import GenericMCObjective, LinearMCObjective, ScalarizedPosteriorTransform
from botorch.acquisition.risk_measures import VaR
from botorch.models import ModelList, SingleTaskGP, map_saas
from botorch.models.transforms import Normalize, Standardize
from botorch.models.transforms.input import InputPerturbation
from botorch.sampling.base import MCSampler
from botorch.sampling.list_sampler import ListSampler
from botorch.sampling.normal import IIDNormalSampler, SobolQMCNormalSampler

UNITS = torch.tensor([10.0, 1.0, 100.0], dtype=torch.float64)
BOUNDS = torch.stack([torch.zeros_like(UNITS), UNITS])

QUIET = pytest.mark.filterwarnings(
    "ignore::botorch.exceptions.warnings.NumericsWarning",  # BoTorch on its own qEI
    "ignore::botorch.exceptions.warnings.InputDataWarning",  # toy data is not standardised
    "ignore::linear_operator.utils.warnings.NumericalWarning",
)


def seeded(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def data(n: int = 12, outputs: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    x = seeded(n, 3)
    y = torch.stack([-((x - 0.4 - 0.2 * k) ** 2).sum(-1) + 0.1 * torch.sin(9 * x[:, k]) for k in range(outputs)], -1)
    return x * UNITS, y


def gp(outputs: int = 1, **kwargs: object) -> SingleTaskGP:
    x, y = data(outputs=outputs)
    kwargs.setdefault("input_transform", Normalize(3, bounds=BOUNDS))
    return SingleTaskGP(x, y, outcome_transform=Standardize(outputs), **kwargs)


def sobol(count: int = 64) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([count]), seed=3)


def sampler_for(name: str) -> MCSampler:
    """What a careful user passes: one sampler per model of a list."""
    if "list of models" in name:
        return ListSampler(*(IIDNormalSampler(torch.Size([64]), seed=k) for k in (0, 1)))
    return sobol()


def first_output(samples: torch.Tensor, X: torch.Tensor | None = None) -> torch.Tensor:
    return samples[..., 0]


def second_is_small(samples: torch.Tensor) -> torch.Tensor:
    return samples[..., 1] + 0.1


def model_list() -> ModelList:
    x, y = data(outputs=2)
    return ModelList(*(SingleTaskGP(x, y[:, k : k + 1], input_transform=Normalize(3, bounds=BOUNDS)) for k in (0, 1)))


def ensemble() -> SingleTaskGP:
    x, y = data()
    taus = torch.tensor([0.1, 0.3, 1.0], dtype=torch.float64)
    model = map_saas.EnsembleMapSaasSingleTaskGP(
        x, y, num_taus=3, taus=taus, input_transform=Normalize(3, bounds=BOUNDS)
    )
    model.covar_module.base_kernel.lengthscale = 0.2 + seeded(3, 1, 3, seed=7)
    return model


def perturbed() -> SingleTaskGP:
    x, y = data()
    shifts = 0.05 * UNITS * seeded(4, 3, seed=5)
    return SingleTaskGP(x, y, input_transform=InputPerturbation(perturbation_set=shifts))


X_BASELINE, Y_BASELINE = data()
BEST = float(Y_BASELINE.quantile(0.7))
CONSTRAINED = {"objective": GenericMCObjective(first_output), "constraints": [second_is_small]}

# name -> sampler -> acquisition function; caching the root of the baseline is BoTorch's default
ACQUISITIONS = {
    "qEI": lambda s: qExpectedImprovement(gp(), BEST, s),
    "qPI": lambda s: qProbabilityOfImprovement(gp(), BEST, s, tau=0.05),
    "qSR": lambda s: qSimpleRegret(gp(), s),
    "qUCB": lambda s: qUpperConfidenceBound(gp(), 2.0, s),
    "qNEI": lambda s, **k: qNoisyExpectedImprovement(gp(), X_BASELINE, s, prune_baseline=False, **k),
    "qLogEI": lambda s: qLogExpectedImprovement(gp(), BEST, s),
    "qLogEI, not fat": lambda s: qLogExpectedImprovement(gp(), BEST, s, fat=False, tau_relu=0.05),
    "qLogNEI": lambda s, **k: qLogNoisyExpectedImprovement(gp(), X_BASELINE, s, prune_baseline=False, **k),
    "qEI, pending": lambda s: qExpectedImprovement(gp(), BEST, s, X_pending=X_BASELINE[:2] + 0.1),
    "qLogNEI, pending": lambda s, **k: qLogNoisyExpectedImprovement(
        gp(), X_BASELINE, s, prune_baseline=False, X_pending=X_BASELINE[:2] * 0.9, **k
    ),
    "qEI, outcome constraint": lambda s: qExpectedImprovement(gp(2), BEST, s, **CONSTRAINED),
    "qLogEI, outcome constraint": lambda s: qLogExpectedImprovement(gp(2), BEST, s, **CONSTRAINED),
    "qLogEI, list of models": lambda s: qLogExpectedImprovement(model_list(), BEST, s, **CONSTRAINED),
    "qSR, objective": lambda s: qSimpleRegret(gp(2), s, objective=LinearMCObjective(torch.tensor([0.3, 0.7]).double())),
    "qEI, posterior transform": lambda s: qExpectedImprovement(
        gp(2), BEST, s, posterior_transform=ScalarizedPosteriorTransform(torch.tensor([0.3, 0.7]).double())
    ),
    "qSR, risk measure": lambda s: qSimpleRegret(perturbed(), s, objective=VaR(alpha=0.5, n_w=4)),
}
if hasattr(map_saas, "EnsembleMapSaasSingleTaskGP"):  # from BoTorch 0.16 on
    ACQUISITIONS["qEI, ensemble"] = lambda s: qExpectedImprovement(ensemble(), BEST, s)
    ACQUISITIONS["qLogEI, ensemble"] = lambda s: qLogExpectedImprovement(ensemble(), BEST, s)
