"""Base samples z of the four forms: which columns are drawn, and when.

| form | samples |
|---|---|
| ERM | K fresh scrambled-Sobol normals at every step |
| FSM | a pool of M Sobol normals drawn once; K of them without replacement per step |
| Comp | a pool of M i.i.d. normals; K of them per step; zeta has M columns |
| ME | K fresh Sobol normals per step; zeta has K columns |

Successive blocks of one scrambled Sobol sequence, each shuffled, serve as fresh draws: every block of 2^k points is a
net of its own.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import torch

from compbo.seeds import next_seed, stream
from compbo.types import DTYPE, FORMS, POOL_FORMS, Draw

if TYPE_CHECKING:
    from torch import Generator, Tensor

DEFAULT_K = 128
LARGEST_POOL = 2**17  # M, for K = 128 that of 1024 steps: what is drawn before the first step takes time and memory


class Samples(Protocol):
    """Where the z of a maximisation come from. `start` resets it; everything random comes from its generator."""

    form: str
    width: int  # rows q of z, pending points included
    minibatch: int  # K
    pool_size: int  # columns of zeta

    def start(self, generator: Generator) -> None:
        """Begin a maximisation."""
        ...

    def draw(self) -> Draw:
        """The samples of the next step."""
        ...

    def expectation_draw(self) -> Draw:
        """Every column of zeta at once."""
        ...


ELEMENTS_AHEAD = 32_768  # of z that are made at once


def sobol_normals(width: int, count: int, generator: Generator) -> Tensor:
    """z (width, count): scrambled Sobol points mapped to normals."""
    return _SobolNormals(width, generator).draw(count)


@lru_cache(maxsize=8)  # a scramble costs more than its points
def scrambles(width: int, count: int, copies: int) -> Tensor:
    """Independent scrambles of one Sobol sample, (copies, width, count): how far does what it says depend on chance?

    They are the same at every call: nothing is ever climbed on them.
    """
    generator = stream(0, "scrambles", width, count)
    return torch.stack([sobol_normals(width, count, generator) for _ in range(copies)])


class _SobolNormals:
    """A scrambled Sobol sequence of standard normals, dealt in blocks."""

    def __init__(self, width: int, generator: Generator) -> None:
        self._engine = torch.quasirandom.SobolEngine(width, scramble=True, seed=next_seed(generator))  # type: ignore[no-untyped-call]

    def draw(self, count: int) -> Tensor:
        """The next block, (width, count)."""
        uniform = self._engine.draw(count, dtype=DTYPE)
        # Sobol points lie on a grid of 2^-30 that contains 0: move them off the border before the inverse.
        inside = 0.5 + (1.0 - torch.finfo(DTYPE).eps) * (uniform - 0.5)
        normal: Tensor = torch.special.ndtri(inside.clamp_(1e-10, 1.0 - 1e-10))
        return normal.mT.contiguous()


def distinct_columns(pool: int, count: int, generator: Generator) -> Tensor:
    """`count` different indices below `pool`, uniformly; the cost does not grow with the pool."""
    if 2 * count > pool:
        return torch.randperm(pool, generator=generator)[:count]
    chosen: Tensor = torch.unique(torch.randint(pool, (count,), generator=generator))
    while len(chosen) < count:
        more = torch.randint(pool, (count,), generator=generator)
        fresh = more[~torch.isin(more, chosen)]
        chosen = torch.unique(torch.cat([chosen, fresh[: count - len(chosen)]]))
    return chosen


def _check_sizes(form: str, width: int, minibatch: int) -> None:
    if width < 1 or minibatch < 1:
        raise ValueError(f"{form}: width and minibatch must be at least 1, got {width} and {minibatch}.")


class FreshSamples:
    """ERM and ME: K = minibatch fresh scrambled-Sobol normals at every step.

    width: rows q of a draw, pending points included. form: the name, ERM or ME.
    """

    def __init__(self, width: int, minibatch: int = DEFAULT_K, form: str = "ERM") -> None:
        """width: rows of z (q, plus pending points)."""
        _check_sizes(form, width, minibatch)
        self.form, self.width, self.minibatch, self.pool_size = form, width, minibatch, minibatch

    def start(self, generator: Generator) -> None:
        """Scramble a new sequence."""
        self._generator = generator
        self._sequence = _SobolNormals(self.width, generator)
        self._ahead: deque[Tensor] = deque()

    def draw(self) -> Draw:
        """The next K points of the sequence, shuffled; made for several steps at once.

        Points K apart lie close together in some coordinates: column k of zeta would not be independent of sample k.
        """
        if not self._ahead:
            steps = max(1, ELEMENTS_AHEAD // (self.width * self.minibatch))
            self._ahead.extend(torch.split(self._sequence.draw(steps * self.minibatch), self.minibatch, -1))
        order = torch.randperm(self.minibatch, generator=self._generator)
        return Draw(self._ahead.popleft()[:, order])

    def expectation_draw(self) -> Draw:
        """One fresh draw: zeta has K columns."""
        return self.draw()


class PoolSamples:
    """FSM and Comp: M samples drawn once, K of their columns without replacement at every step.

    width: rows q of a draw, pending points included. minibatch: K. pool_size: M. form: the name, FSM or Comp.
    """

    def __init__(self, width: int, minibatch: int, pool_size: int, form: str = "Comp") -> None:
        """FSM pools are Sobol normals, Comp pools i.i.d. ones."""
        _check_sizes(form, width, minibatch)
        if pool_size < minibatch:
            raise ValueError(f"{form}: the pool of {pool_size} samples is smaller than the minibatch of {minibatch}.")
        self.form, self.width, self.minibatch, self.pool_size = form, width, minibatch, pool_size

    def start(self, generator: Generator) -> None:
        """Draw the pool."""
        self._generator = generator
        if self.form == "FSM":
            self._pool = sobol_normals(self.width, self.pool_size, generator).mT.contiguous()
        else:
            self._pool = torch.randn(self.pool_size, self.width, dtype=DTYPE, generator=generator)

    def draw(self) -> Draw:
        """K different columns of the pool."""
        columns = distinct_columns(self.pool_size, self.minibatch, self._generator)
        return Draw(self._pool[columns].mT, columns)

    def expectation_draw(self) -> Draw:
        """The whole pool."""
        return Draw(self._pool.mT, torch.arange(self.pool_size))


class OneSample:
    """The same samples z (width, K) at every step: what is climbed is one fixed function of x."""

    form = "ERM"

    def __init__(self, z: Tensor) -> None:
        self._draw = Draw(z)
        self.width, self.minibatch = z.shape
        self.pool_size = self.minibatch

    def start(self, generator: Generator) -> None:
        """Nothing is random."""

    def draw(self) -> Draw:
        """The samples."""
        return self._draw

    def expectation_draw(self) -> Draw:
        """The samples."""
        return self._draw


def make_samples(form: str, width: int, *, minibatch: int = DEFAULT_K, steps: int = 64) -> Samples:
    """The samples of a form; a pool holds M = K T samples, or `LARGEST_POOL` (K, if that is more) where T is large.

    width: rows q of a draw, pending points included. minibatch: K. steps: T.
    """
    if form not in FORMS:
        raise ValueError(f"form {form!r} is unknown; choose one of {', '.join(FORMS)}.")
    if form in POOL_FORMS:
        return PoolSamples(width, minibatch, min(minibatch * steps, max(minibatch, LARGEST_POOL)), form)
    return FreshSamples(width, minibatch, form)


class Sampled:
    """The half of an oracle that draws (see `compbo.types.Oracle`); the other half evaluates."""

    def __init__(self, samples: Samples) -> None:
        """samples: where z comes from."""
        self.samples = samples

    @property
    def pool_size(self) -> int:
        """Number M of zeta's columns."""
        return self.samples.pool_size

    def start(self, generator: Generator) -> None:
        """Begin a maximisation."""
        self._fixed: Draw | None = None
        self.samples.start(generator)

    def draw(self) -> Draw:
        """The samples of the next step."""
        return self.samples.draw()

    def expectation_draw(self) -> Draw:
        """Every column of zeta at once."""
        return self.samples.expectation_draw()

    def fixed_draw(self) -> Draw:
        """One minibatch for the whole run, so that values and ranks compare."""
        if self._fixed is None:
            self._fixed = self.samples.draw()
        return self._fixed
