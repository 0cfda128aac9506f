"""(d) The GP fit against `fit_gpytorch_mll`, cold and with the warm start of a BO run, and the J each reached."""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.alone import alone
from benchmarks.common import SIZES, Row, Work, alternate, data, work
from compbo.numerics import standardise
from compbo.surrogate.gp import fit_gp
from compbo.surrogate.kernels import MATERN52
from compbo.surrogate.log_posterior import Hyperparameters, NegativeLogPosterior
from compbo.surrogate.priors import paper
from compbo.types import DTYPE

TITLE = "GP fit (prior set `paper`)"
NOTE = (
    "J is the negative log posterior at the hyperparameters found, the same function for both (lower is "
    "better). Goals at W(16,100), W(40,250), W(120,515): 3, 2.5, 1.5 times faster cold; "
    "8, 4, 3 warm (hyperparameters of the fit without the last 16 points). `alone`: BoTorch in a process of its own."
)


def botorch_fit(w: Work, start: Hyperparameters | None) -> Hyperparameters:
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ZeroMean
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import GammaPrior

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = SingleTaskGP(
            w.gp.train_x,
            w.gp.train_y.unsqueeze(-1),
            likelihood=GaussianLikelihood(noise_prior=GammaPrior(1.1, 0.05), noise_constraint=GreaterThan(1e-6)),
            covar_module=ScaleKernel(
                MaternKernel(nu=2.5, ard_num_dims=w.d, lengthscale_prior=GammaPrior(3.0, 6.0)),
                outputscale_prior=GammaPrior(2.0, 0.15),
            ),
            mean_module=ZeroMean(),
            outcome_transform=None,
        ).to(DTYPE)
        begin = start or Hyperparameters(model.covar_module.base_kernel.lengthscale.new_full((w.d,), 0.5), 1.0, 1e-2)
        model.covar_module.base_kernel.lengthscale = begin.lengthscale
        model.covar_module.outputscale = begin.outputscale
        model.likelihood.noise = begin.noise
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    kernel = model.covar_module
    return Hyperparameters(
        kernel.base_kernel.lengthscale.detach().flatten(), float(kernel.outputscale), float(model.likelihood.noise)
    )


def starts(w: Work) -> dict[str, Hyperparameters | None]:
    """Where a fit begins: cold, or at the fit without the last 16 points."""
    x, y = data(w.d, w.n)
    return {"cold": None, "warm": fit_gp(x[:-16], y[:-16]).hyperparameters}


def theirs_alone() -> dict[str, float]:
    """Seconds of BoTorch by size and start."""
    seconds = {}
    for w in (work(*size) for size in SIZES):
        for kind, start in starts(w).items():
            seconds[f"{w.name} {kind}"] = alternate(lambda: botorch_fit(w, start), repeats=5, warmup=1)[0].median
    return seconds


def run(works: list[Work]) -> list[Row]:
    rows: list[Row] = []
    by_itself = alone("gp_fit", "theirs_alone")
    for w in works:
        x, y = data(w.d, w.n)
        loss = NegativeLogPosterior(x, standardise(y).values, MATERN52, paper(w.d), None)
        for kind, start in starts(w).items():
            found: dict[str, float] = {}

            def ours() -> None:
                found["ours"] = fit_gp(x, y, warm_start=start).loss

            def theirs() -> None:
                found["theirs"] = loss(loss.pack(botorch_fit(w, start)))[0]

            mine, peer = alternate(ours, theirs, repeats=5, warmup=1)
            rows.append(
                {
                    "size": w.name,
                    "start": kind,
                    "ours ms": 1e3 * mine.median,
                    "BoTorch ms": 1e3 * peer.median,
                    "alone ms": 1e3 * by_itself[f"{w.name} {kind}"],
                    "times faster": peer.median / mine.median,
                    "than alone": by_itself[f"{w.name} {kind}"] / mine.median,
                    "our J": f"{found['ours']:.4f}",
                    "BoTorch's J": f"{found['theirs']:.4f}",
                }
            )
    return rows
