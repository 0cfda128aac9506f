"""Thompson sampling: every point of a batch is the maximiser of its own sample of the posterior.

- function: exact joint samples on a fixed set of candidates;
- weight: samples of the Bayesian linear model in random Fourier features, maximised by L-BFGS-B;
- decoupled: a prior of random waves with the exact update (pathwise conditioning), maximised by L-BFGS-B.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import torch

from compbo.baselines.asktell import AskTell, Losses
from compbo.baselines.paths import FeaturePaths, Paths, posterior_paths
from compbo.bo.model import fit_model
from compbo.seeds import next_seed
from compbo.surrogate.outputs import check_outputs
from compbo.surrogate.posterior import reparameterise
from compbo.threads import single_threaded_blas
from compbo.types import DTYPE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Generator, Tensor

    from compbo.bo.history import History, Point
    from compbo.space import Space
    from compbo.surrogate.gp import GP

Flavour = Literal["function", "weight", "decoupled"]
FLAVOURS: tuple[Flavour, ...] = get_args(Flavour)

INCUMBENTS = 8  # best observations that join the candidates where a search starts from them


class ThompsonSampling(AskTell):
    """Batch Thompson sampling by ask and tell; losses are minimised, a failed one stands at the worst value seen.

    seed, kernel, priors, outputs: as in `compbo.Settings`, but no output transform by default.

    noise: standard deviation in the units of the loss, 0 for a noiseless task, None to learn it.
    candidates: Sobol points at which every sample is evaluated; features: frequencies F of a sample (of a stationary
    kernel; the others, linear and cosine, have their own few features and are sampled exactly);
    starts, steps: how many of the best candidates L-BFGS-B starts from, and its iterations.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        flavour: Flavour = "decoupled",
        noise: float | None = None,
        kernel: str = "matern52",
        priors: str = "paper",
        outputs: str = "none",
        candidates: int = 1024,
        features: int = 512,
        starts: int = 4,
        steps: int = 64,
    ) -> None:
        super().__init__(space, seed)
        if flavour not in FLAVOURS:
            raise ValueError(f"ThompsonSampling: no flavour {flavour!r}; there are {', '.join(FLAVOURS)}.")
        if noise is not None and not 0 <= noise < float("inf"):
            raise ValueError(f"ThompsonSampling: noise must be a standard deviation of at least 0, got {noise}.")
        sizes = {"candidates": candidates, "features": features, "starts": starts, "steps": steps}
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"ThompsonSampling: {name} must be at least 1, got {size}.")
        self.flavour, self.noise, self.kernel, self.priors = flavour, noise, kernel, priors
        self.outputs = check_outputs(outputs)
        self.candidates, self.features, self.starts, self.steps = candidates, features, starts, steps

    def suggest(self, history: History, count: int) -> list[Point]:
        """A maximiser of its own posterior sample for every point; uniform points before the first success."""
        observed = Losses.of(self.space, history)
        generator = observed.stream(self.seed, f"thompson {self.flavour}", count)
        if not history.has_success:
            return self.space.sample(count, generator)
        gp = self._fit(observed)
        candidates = self._candidates(count, generator)
        if self.flavour == "function":
            return self.space.from_unit(best_of_joint_samples(gp, candidates, count, generator))
        paths = posterior_paths(gp, count, self.features, self.flavour, generator)
        candidates = torch.cat([candidates, observed.x[:INCUMBENTS]])
        return self.space.from_unit(maximise_paths(paths, candidates, self.starts, self.steps))

    def _fit(self, observed: Losses) -> GP:
        """The model; a failed evaluation stands at the worst value seen."""
        worst = observed.loss[torch.isfinite(observed.loss)].max()
        y = -observed.loss.clamp_max(worst)
        return fit_model(
            self.space,
            observed.x,
            y,
            kernel=self.kernel,
            priors=self.priors,
            noise=self.noise,
            outputs=self.outputs,
            failed=~torch.isfinite(observed.loss),
        )

    def _candidates(self, count: int, generator: Generator) -> Tensor:
        """Sobol points, rounded to valid ones; in a small space fewer, for each only once."""
        engine = torch.quasirandom.SobolEngine(self.space.dim, scramble=True, seed=next_seed(generator))  # type: ignore[no-untyped-call]
        sobol = engine.draw(max(self.candidates, count), dtype=DTYPE)
        return torch.unique(self.space.round_unit(sobol), dim=0) if self.space.is_discrete else sobol


def best_of_joint_samples(gp: GP, candidates: Tensor, count: int, generator: Generator) -> Tensor:
    """The maximisers (count, d) of exact joint samples on the candidates, none twice while there are others."""
    batch = gp.posterior(candidates.unsqueeze(0), gradient_rows=0)
    if bool(batch.failed.any()):
        raise ArithmeticError("Thompson sampling: the posterior covariance of the candidates has no Cholesky factor.")
    z = torch.randn(len(candidates), count, dtype=DTYPE, generator=generator)
    samples = reparameterise(batch, z).values[0].mT
    chosen: list[int] = []
    for sample in samples:
        if len(chosen) < len(candidates):
            sample[chosen] = -torch.inf
        chosen.append(int(sample.argmax()))
    return candidates[chosen]


def maximise_paths(paths: Paths | FeaturePaths, candidates: Tensor, starts: int, steps: int) -> Tensor:
    """The best point (S, d) of every path, after `steps` of L-BFGS-B from its `starts` best candidates.

    It is not worse than the best candidate.
    """
    from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched

    top = paths.values(candidates).topk(min(starts, len(candidates)), dim=-1)
    which = torch.arange(len(paths)).repeat_interleave(top.indices.shape[1])
    start = candidates[top.indices.flatten()]

    def cost(x: NDArray[np.float64], batch_indices: list[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, gradient = paths.value_and_gradient(torch.as_tensor(x), which[batch_indices])
        return -value.numpy(), -gradient.numpy()

    with single_threaded_blas():
        found, *_ = fmin_l_bfgs_b_batched(
            cost, start.numpy(), bounds=[(0.0, 1.0)] * start.shape[1], maxiter=steps, pass_batch_indices=True
        )
    ends = torch.as_tensor(found).clamp(0.0, 1.0)
    both = torch.stack([ends, start], 1).reshape(len(paths), -1, start.shape[1])
    values = torch.stack([paths.value_and_gradient(x, torch.full((len(x),), s))[0] for s, x in enumerate(both)])
    return both[torch.arange(len(paths)), values.argmax(-1)]
