"""Sample paths of a GP's posterior: functions that can be evaluated and differentiated anywhere.

The prior is a sum of F random waves (random Fourier features), f(x) = phi(x)^T w with w ~ N(0, I) and
phi(x) = s_f F^(-1/2) [cos(omega_j x), sin(omega_j x)], omega drawn from the kernel's spectral density. Every path has
waves of its own, so the covariance of f is the kernel's exactly, not only as F grows. Matheron's rule makes a
posterior path of a prior one, with r = y - f(X) - noise:

- decoupled: f(x) + k(x, X) C^-1 r: the update is exact, only the prior is made of waves (Wilson et al. 2020);
- weight space: w + Phi^T (Phi Phi^T + s_n^2 I)^-1 r: the Bayesian linear model in the features.

A kernel of finitely many features (linear, cosine) needs no waves: a path is phi(x)^T w with the features of the kernel
and w drawn from their posterior, which is what both bases come to.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

from compbo.numerics import cholesky
from compbo.surrogate.feature_posterior import FeaturePosterior
from compbo.surrogate.features import FeatureKernel
from compbo.surrogate.kernels import left_factor, right_factor
from compbo.surrogate.warps import UNWARPED
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.surrogate.gp import GP
    from compbo.surrogate.kernels import Kernel
    from compbo.surrogate.posterior import GPPosterior

Basis = Literal["weight", "decoupled"]


def _normal(shape: tuple[int, ...], generator: Generator) -> Tensor:
    return torch.randn(shape, dtype=DTYPE, generator=generator)


def _student_t(shape: tuple[int, ...], generator: Generator) -> Tensor:
    """Matern-5/2: a Student t with 2 nu = 5 degrees of freedom, one chi-squared per frequency."""
    chi2 = _normal((*shape[:-1], 5), generator).square().sum(-1, keepdim=True)
    return _normal(shape, generator) * (5.0 / chi2).sqrt()


SPECTRA: dict[str, Callable[[tuple[int, ...], Generator], Tensor]] = {"matern52": _student_t, "se": _normal}


class _Stationary(NamedTuple):
    kernel: Kernel
    posterior: GPPosterior


def _stationary(gp: GP) -> _Stationary:
    """Kernel and posterior of a GP that is made of waves; ValueError if it is not."""
    if isinstance(gp.kernel, FeatureKernel) or isinstance(gp.posterior, FeaturePosterior):
        raise ValueError(f"the kernel {gp.kernel.name!r} has no random waves; draw its paths by `posterior_paths`.")
    if gp.hyperparameters.warp is not UNWARPED:
        raise ValueError("a model with warped inputs has no random waves; fit it without a warp.")
    return _Stationary(gp.kernel, gp.posterior)


def draw_frequencies(gp: GP, paths: int, count: int, generator: Generator) -> Tensor:
    """Omega (S, F, d): `count` = F frequencies of the kernel for each of S paths."""
    _stationary(gp)
    unit = SPECTRA[gp.kernel.name]((paths, count, gp.train_x.shape[1]), generator)
    return unit / gp.hyperparameters.lengthscale


class Paths(NamedTuple):
    """S functions f_s(x) = phi_s(x)^T w_s + k(x, X) v_s, in the GP's standardised units."""

    gp: GP
    frequencies: Tensor  # (S, F, d)
    weights: Tensor  # w (S, 2 F): of the cosines, then of the sines
    update: Tensor  # v (S, n)

    def __len__(self) -> int:
        return len(self.weights)

    def value_and_gradient(self, x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """f (m,) and its gradient (m, d) at x (m, d), row i on path which[i]; rounding passes the gradient through."""
        x = self._round(x)
        omega, w, v = self.frequencies[which], self.weights[which], self.update[which]
        angle = (omega @ x.unsqueeze(-1)).squeeze(-1)
        cosine, sine = angle.cos(), angle.sin()
        of_cosine, of_sine = w.chunk(2, -1)
        scale = self._wave_scale
        value = scale * (of_cosine * cosine + of_sine * sine).sum(-1)
        gradient = scale * ((of_sine * cosine - of_cosine * sine).unsqueeze(1) @ omega).squeeze(1)
        k, slope, points = self._cross(x)
        pull = v * slope
        kernel, posterior = _stationary(self.gp)
        products = pull.sum(-1, keepdim=True) * points - pull @ posterior.scaled_train
        gradient += 2.0 * kernel.slope_factor * posterior.inputs.weights * products
        return value + (v * k).sum(-1), gradient

    def values(self, x: Tensor) -> Tensor:
        """All S functions at all points x (m, d): (S, m)."""
        x = self._round(x)
        waves = torch.stack([_features(x, omega) @ w for omega, w in zip(self.frequencies, self.weights, strict=True)])
        return waves * math.sqrt(self.gp.hyperparameters.outputscale) + self.update @ self._cross(x)[0].mT

    def _round(self, x: Tensor) -> Tensor:
        rounder = self.gp.posterior.rounder
        return x if rounder is None else rounder(x)

    @property
    def _wave_scale(self) -> float:
        return math.sqrt(self.gp.hyperparameters.outputscale / self.frequencies.shape[1])

    def _cross(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """k(x, X) and its slope in r2 (m, n), and the scaled points (m, d)."""
        kernel, posterior = _stationary(self.gp)
        points = posterior.inputs(x)
        k = kernel.evaluate(left_factor(points) @ right_factor(posterior.scaled_train).mT)
        outputscale = self.gp.hyperparameters.outputscale
        return outputscale * k.value, outputscale * k.slope, points


def _features(x: Tensor, frequencies: Tensor) -> Tensor:
    """phi (m, 2 F) at unit output scale."""
    angle = x @ frequencies.mT
    return torch.cat([angle.cos(), angle.sin()], -1) / math.sqrt(len(frequencies))


def draw_paths(gp: GP, frequencies: Tensor, basis: Basis, generator: Generator) -> Paths:
    """Independent posterior paths, one for every set of frequencies (S, F, d)."""
    outputscale, noise = gp.hyperparameters.outputscale, gp.hyperparameters.noise
    x, n = gp.train_x, len(gp.train_y)
    paths = len(frequencies)
    weights = _normal((paths, 2 * frequencies.shape[1]), generator)
    error = math.sqrt(noise) * _normal((paths, n), generator)
    update = torch.zeros(paths, n, dtype=DTYPE)
    for s in range(paths):
        phi = math.sqrt(outputscale) * _features(x, frequencies[s])
        residual = gp.train_y - phi @ weights[s] - error[s]
        if basis == "decoupled":
            update[s] = residual
        else:
            weights[s] += phi.mT @ _solve(phi @ phi.mT, noise, residual.unsqueeze(-1)).squeeze(-1)
    if basis == "decoupled":
        kernel, posterior = _stationary(gp)
        scaled = posterior.scaled_train
        covariance = outputscale * kernel.evaluate(left_factor(scaled) @ right_factor(scaled).mT).value
        update = _solve(covariance, noise, update.mT).mT
    return Paths(gp, frequencies, weights, update)


class FeaturePaths(NamedTuple):
    """S functions f_s(x) = phi(x)^T w_s with the features of the kernel, in the GP's standardised units."""

    posterior: FeaturePosterior  # of the GP, with its features
    weights: Tensor  # w (S, r)

    def __len__(self) -> int:
        return len(self.weights)

    def value_and_gradient(self, x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """f (m,) and its gradient (m, d) at x (m, d), row i on path which[i]; rounding passes the gradient through."""
        w = self.weights[which]
        return (self.posterior.features(x) * w).sum(-1), self.posterior.pull(x, w)

    def values(self, x: Tensor) -> Tensor:
        """All S functions at all points x (m, d): (S, m)."""
        return self.weights @ self.posterior.features(x).mT


def posterior_paths(gp: GP, paths: int, waves: int, basis: Basis, generator: Generator) -> Paths | FeaturePaths:
    """S independent posterior paths, each of its own F waves where the kernel is made of waves."""
    if isinstance(gp.posterior, FeaturePosterior):
        return FeaturePaths(gp.posterior, gp.posterior.draw_weights(paths, generator))
    return draw_paths(gp, draw_frequencies(gp, paths, waves, generator), basis, generator)


def _solve(covariance: Tensor, noise: float, right: Tensor) -> Tensor:
    """(covariance + noise I)^-1 right; the ladder of jitter finds a factor of any finite covariance."""
    covariance.diagonal().add_(noise)
    return torch.cholesky_solve(right, cholesky(covariance).factor)
