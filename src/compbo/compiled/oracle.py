"""The oracle of `acquisition/oracle.py` in compiled code: the same numbers to rounding."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch

from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.compiled import columns, kernels
from compbo.compiled.passes import Kept, Model, backward, batches_at_once, forward
from compbo.surrogate.posterior import GPPosterior
from compbo.types import Inner

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.samples import Samples
    from compbo.compiled.build import Array
    from compbo.surrogate.posterior import BatchPosterior, Posterior
    from compbo.types import Draw

KERNELS = {"matern52": kernels.MATERN52, "se": kernels.SQUARED_EXPONENTIAL}
INTEGRANDS = {UCB: columns.UCB, EI: columns.EI, SR: columns.SR, PI: columns.PI, LogEI: columns.LOGEI}


def is_covered(acquisition: Acquisition, posterior: Posterior) -> bool:
    """Whether `CompiledOracle` computes this acquisition function over this posterior."""
    return type(posterior) is GPPosterior and posterior.kernel.name in KERNELS and type(acquisition) in INTEGRANDS


class CompiledOracle(AcquisitionOracle):
    """EI, PI, SR, UCB or LogEI over our GP with a stationary kernel, without pending points."""

    def __init__(self, acquisition: Acquisition, posterior: Posterior, samples: Samples, best: float) -> None:
        """best: f*, the best observed value in the posterior's units; `is_covered` says what the others can be."""
        super().__init__(acquisition, posterior, samples, best)
        assert isinstance(posterior, GPPosterior)
        self._gp, self._model, self._outer = posterior, _model_of(posterior), _with_compiled_maxima(acquisition)
        parameter = acquisition.width if isinstance(acquisition, UCB) else getattr(acquisition, "tau", 1.0)
        self._integrand = columns.Integrand(INTEGRANDS[type(acquisition)], best, parameter)

    def utility(self, v: Tensor) -> Tensor:
        """h: the utility of every column."""
        return self._outer.utility(v)

    def outer(self, v: Tensor) -> Tensor:
        """f over the columns given."""
        return self._outer.outer(v)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """(M/K) grad f at the columns given."""
        return self._outer.outer_gradient(zeta, mean_utility)

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """v (B, q, K) at x (B, q, d) and the way back to x for the first `gradient_rows` batches."""
        rows, q = x.shape[0] if gradient_rows is None else gradient_rows, x.shape[1]
        gp, z = self._gp, _array(draw.z)
        points, v = _array(gp.inputs(gp.rounded(x))), x.new_empty(len(x), q, draw.size)
        kept, with_factors = _memory(rows, q, len(gp.alpha)), not bool(gp.cholesky.failed)
        if with_factors and rows > 0:
            with_factors = forward(points[:rows], z, self._model, self._integrand, True, kept, v[:rows].numpy())
        if with_factors and rows < len(x):
            memory = _memory(min(len(x) - rows, batches_at_once(q)), q, len(gp.alpha))
            with_factors = forward(points[rows:], z, self._model, self._integrand, False, memory, v[rows:].numpy())
        if not with_factors:  # the ladder of jitter is the other oracle's
            return super().inner(x, draw, gradient_rows)

        def pullback(c: Tensor) -> Tensor:
            pull = x.new_empty(points[:rows].shape)
            backward(points[:rows], z, self._model, self._integrand, kept, _array(c), pull.numpy())
            return gp.unwarped(x[:rows], pull.mul_(2.0 * gp.kernel.slope_factor * gp.inputs.weights))

        @cache
        def batch() -> BatchPosterior:
            return gp(x, gradient_rows=0)

        failed, jitter = torch.zeros(len(x), dtype=torch.bool), float(gp.cholesky.jitter)
        return Inner(v, pullback, failed, jitter, lambda other: self._v_of(batch(), other))


def _model_of(gp: GPPosterior) -> Model:
    return Model(
        KERNELS[gp.kernel.name],
        _array(gp.scaled_train),
        _array((gp.scaled_train * gp.scaled_train).sum(-1)),
        _array(gp.alpha),
        _array(gp.inverse),
        _array(gp.inverse_factor),
        not gp.well_conditioned,
        float(gp.output_shift),
        float(gp.scale),
    )


def _memory(b: int, q: int, n: int) -> Kept:
    return Kept(*(np.empty(shape) for shape in ((b, q), (b, q, q), (b, q, n), (b, q, n), (b, q, q))))


def _array(tensor: Tensor) -> Array:
    return tensor.contiguous().numpy()


class CompiledMaxima:
    """max_j v_jm and its derivative, each in one pass over v."""

    @staticmethod
    def maxima(v: Tensor) -> Tensor:
        """max_j v_jm: (B, q, K) -> (B, K)."""
        top = v.new_empty(v.shape[0], v.shape[2])
        columns.maxima(_array(v), top.numpy())
        return top

    @staticmethod
    def winners(v: Tensor, weight: Tensor | float = 1.0) -> Tensor:
        """The weight at the largest value of each column, shared where several are largest, and 0 elsewhere."""
        out = torch.empty(v.shape, dtype=v.dtype)
        weights = torch.as_tensor(weight, dtype=v.dtype).expand(v.shape[0], 1, v.shape[2])
        columns.winners(_array(v), _array(weights[:, 0]), out.numpy())
        return out


def _with_compiled_maxima(acquisition: Acquisition) -> Acquisition:
    kind = type(acquisition)
    made: Acquisition = object.__new__(type(kind.__name__, (CompiledMaxima, kind), {}))
    made.__dict__.update(vars(acquisition))
    return made
