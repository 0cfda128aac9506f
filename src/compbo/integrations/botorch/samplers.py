"""Samplers that use given base samples, and copies of an acquisition function that carry them.

The caller's acquisition function and sampler stay as they are: all work is done on a shallow copy that shares the
model and has a sampler of its own.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from botorch.acquisition.cached_cholesky import CachedCholeskyMCSamplerMixin
from botorch.posteriors.posterior_list import PosteriorList
from botorch.sampling.base import MCSampler
from botorch.sampling.get_sampler import get_sampler
from botorch.sampling.list_sampler import ListSampler
from botorch.sampling.normal import NormalMCSampler
from botorch.sampling.stochastic_samplers import StochasticSampler

from compbo.seeds import derive_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


class NoBaseSamples(Exception):  # noqa: N818 - an answer, not an error
    """The posterior is not a transformation of normal base samples."""


def private_copy(acqf: Any, sampler: MCSampler | None) -> Any:
    """The same acquisition function `acqf` with a sampler of its own; only the model is shared."""
    twin = copy.copy(acqf)
    for name in ("_modules", "_buffers", "_parameters"):
        twin.__dict__[name] = dict(twin.__dict__[name])
    twin.sampler = sampler
    return twin


def with_base_samples(acqf: Any, sampler: MCSampler) -> Any:
    """A copy of `acqf` that draws all its samples through `sampler`.

    A root that was cached for other base samples is dropped: the noisy acquisition functions then sample baseline and
    candidates jointly, which is the same distribution.
    """
    twin = private_copy(acqf, sampler)
    if isinstance(twin, CachedCholeskyMCSamplerMixin):
        twin._cache_root = False
    return twin


def with_fixed_samples(acqf: Any, seed: int) -> Any:
    """A copy of `acqf` on the caller's own base samples, or on those of `seed` if the caller has no fixed ones."""
    if not hasattr(acqf, "sampler"):
        return acqf
    if acqf.sampler is None or isinstance(acqf.sampler, StochasticSampler):
        return with_base_samples(acqf, SeededSampler(acqf.sample_shape, seed))
    return private_copy(acqf, copy.deepcopy(acqf.sampler))


def common_seed(seed: int) -> int:
    """The seed of the fixed sample for acquisition functions that have none of their own."""
    return derive_seed(seed, "common sample") % 2**31


class SeededSampler(MCSampler):  # type: ignore[misc]
    """BoTorch's own choice of sampler for the posterior, always with the same seed."""

    def forward(self, posterior: Any) -> Tensor:
        """Samples of the posterior, the same for the same shape."""
        samples: Tensor = get_sampler(posterior, sample_shape=self.sample_shape, seed=self.seed)(posterior)
        return samples


class _Normals(NormalMCSampler):  # type: ignore[misc]
    """A normal sampler without base samples of its own: it only knows the shape they must have."""

    def _construct_base_samples(self, posterior: Any) -> None:
        """Nothing to construct: they are given."""

    def collapsed(self, posterior: Any) -> torch.Size:
        """The shape of one base sample, t-batches collapsed so that all restarts share it."""
        return torch.Size(self._get_collapsed_shape(posterior)[len(self.sample_shape) :])

    def transform(self, posterior: Any, base_samples: Tensor) -> Tensor:
        """Posterior samples from base samples (*sample_shape, *collapsed)."""
        self.base_samples = base_samples.to(device=posterior.device, dtype=posterior.dtype)
        samples: Tensor = self.forward(posterior)
        return samples


class GivenSampler(MCSampler):  # type: ignore[misc]
    """Posterior samples from base samples z (width, K) that are set before every call.

    A list of independent posteriors takes its rows of z in order.
    """

    def __init__(self, dims: int) -> None:
        """dims: how many sample dimensions the acquisition function reduces over; all but the first have size 1."""
        super().__init__(torch.Size([1] * dims), seed=0)
        self._dims = dims
        self._z = torch.empty(0, 1)

    def use(self, z: Tensor) -> None:
        """Take z (width, K) for the next calls."""
        self._z = z
        self.sample_shape = torch.Size([z.shape[-1]] + [1] * (self._dims - 1))

    def forward(self, posterior: Any) -> Tensor:
        """Samples (K, 1..., batch, q, m)."""
        widths = [shape.numel() for shape in base_shapes(posterior, self.sample_shape)]
        rows = iter(torch.split(self._z, widths))
        return self._transform(posterior, rows)

    def _transform(self, posterior: Any, rows: Iterator[Tensor]) -> Tensor:
        if isinstance(posterior, PosteriorList):
            samples: Tensor = posterior._reshape_and_cat([self._transform(p, rows) for p in posterior.posteriors])
            return samples
        normals = _Normals(self.sample_shape, seed=0)
        z = next(rows).mT
        return normals.transform(posterior, z.reshape(*self.sample_shape, *normals.collapsed(posterior)))


def base_shapes(posterior: Any, sample_shape: torch.Size) -> list[torch.Size]:
    """The shapes of one base sample (sample_shape) of each independent part of the posterior."""
    if isinstance(posterior, PosteriorList):
        return [shape for part in posterior.posteriors for shape in base_shapes(part, sample_shape)]
    return [_Normals(sample_shape, seed=0).collapsed(posterior)]


class ProbeSampler(MCSampler):  # type: ignore[misc]
    """Answers like BoTorch's own sampler and notes what base samples (dims rows) the posterior wants."""

    def __init__(self, dims: int) -> None:
        super().__init__(torch.Size([2] + [1] * (dims - 1)), seed=0)
        self.width = 0  # rows of z, known after the first call

    def forward(self, posterior: Any) -> Tensor:
        """Samples of a fixed seed; NoBaseSamples if they do not come from normals."""
        try:
            sampler = get_sampler(posterior, sample_shape=self.sample_shape, seed=0)
        except NotImplementedError:
            raise NoBaseSamples(type(posterior).__name__) from None
        members = list(sampler.samplers) if isinstance(sampler, ListSampler) else [sampler]
        if not all(isinstance(member, NormalMCSampler) for member in members):
            raise NoBaseSamples(type(posterior).__name__)
        self.width = sum(shape.numel() for shape in base_shapes(posterior, self.sample_shape))
        samples: Tensor = sampler(posterior)
        return samples
