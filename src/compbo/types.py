"""The nouns that every room shares: draws, boxes, budgets, traces.

Shapes: B restarts, q points per batch, d dimensions, n observations, M pool size, K minibatch, T steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

import torch

from compbo.inputs import real, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

DTYPE = torch.float64

Form = Literal["ERM", "FSM", "Comp", "ME"]  # which samples an oracle draws: see `acquisition.samples`
FORMS: tuple[Form, ...] = get_args(Form)
POOL_FORMS: tuple[Form, ...] = ("FSM", "Comp")  # minibatches of a pool that is drawn once; the others draw anew

ZETA_AS_A_WHOLE, ZETA_IN_PARTS = 5_000_000, 1_000_000  # elements of zeta_0 on a pool that are made at once


def zeta_at_once(restarts: int, elements: int) -> int:
    """How many restarts' zeta_0 is made at once on a pool; elements: q M, of one restart."""
    return restarts if restarts * elements <= ZETA_AS_A_WHOLE else max(1, ZETA_IN_PARTS // elements)


class Draw(NamedTuple):
    """The samples of one step: z (q, K) and, for a pool, which of its M columns they are."""

    z: Tensor
    columns: Tensor | None = None  # (K,) indices into the pool; None: the columns are 0..K-1 of a K-column zeta

    @property
    def size(self) -> int:
        """Number K of drawn columns."""
        return self.z.shape[-1]


class Box(NamedTuple):
    """Lower and upper bounds (d,) of every point; P is the projection on it."""

    lower: Tensor
    upper: Tensor

    @classmethod
    def unit(cls, d: int) -> Box:
        """The unit cube of d dimensions."""
        return cls(torch.zeros(d, dtype=DTYPE), torch.ones(d, dtype=DTYPE))

    def project(self, x: Tensor) -> Tensor:
        """P(x): the nearest point of the box."""
        return torch.clamp(x, self.lower, self.upper)


@dataclass(frozen=True)
class Budget:
    """What one maximisation may spend.

    Args:
        steps: ascent steps T (generations of a population, iterations of L-BFGS-B).
        seconds: wall clock; when it runs out, the best so far is returned with the status TIME. None: no limit.
        memory: bytes of working memory; a maximizer that would need more stops at once, with the status MEMORY. None:
            no limit.

    >>> import compbo
    >>> compbo.Settings(budget=compbo.Budget(steps=16)).budget.steps
    16
    """

    steps: int = 64
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        object.__setattr__(self, "steps", whole_number("Budget: steps", self.steps))
        if self.seconds is not None:
            if not real(self.seconds) > 0:
                raise ValueError(f"Budget: seconds must be a positive number, got {self.seconds!r}.")
            object.__setattr__(self, "seconds", real(self.seconds))
        if self.memory is not None:
            object.__setattr__(self, "memory", whole_number("Budget: memory (in bytes)", self.memory))


class Status(StrEnum):
    """How a restart ended."""

    DONE = "done"  # used all its steps
    CONVERGED = "converged"  # its own stopping rule fired
    DROPPED = "dropped"  # of a race: behind the leaders, or where a better one is
    FAILED = "failed"  # could not go on (see Failure): frozen at its best point
    TIME = "time"  # the clock ran out
    MEMORY = "memory"  # would not fit


class Failure(StrEnum):
    """Why a restart could not go on."""

    NO_FACTOR = "no Cholesky factor"
    VALUE = "a value that is not finite"
    GRADIENT = "a gradient that is not finite"
    STEP = "a step that is not finite"


@dataclass(frozen=True)
class Trace:
    """What a maximizer leaves: one row per restart.

    Values are the oracle's own noisy ones (minibatch); `propose` compares restarts on one common sample.
    """

    final: Tensor  # (B, q, d)
    final_value: Tensor  # (B,)
    best: Tensor  # (B, q, d)
    best_value: Tensor  # (B,)
    start_value: Tensor  # (B,)
    gradient_norm: Tensor  # (B,) of the last gradient; NaN for methods without one
    status: tuple[Status, ...]  # how each restart ended
    steps: int  # that were made
    seconds: float  # wall clock
    jitter: float = 0.0  # largest relative jitter a Cholesky factor needed
    failures: tuple[Failure | None, ...] = ()  # (B,) of the failed restarts; None for the others
    values: Tensor | None = None  # (steps, B), only if asked for
    points: Tensor | None = field(default=None, repr=False)  # (steps, B, q, d), only if asked for


class Inner(NamedTuple):
    """g at a batch of points: the columns v (B, q, K) and the way back, J_g^T c."""

    v: Tensor
    pullback: Callable[[Tensor], Tensor]  # cotangent on v (rows, q, K) -> gradient (rows, q, d)
    failed: Tensor  # (B,) bool: no Cholesky factor, v is not to be trusted
    jitter: float  # largest relative one that a Cholesky factor needed
    # draw -> v (B, q, K) at the same points, without another evaluation of the model; None: only `Oracle.inner` can
    v_on: Callable[[Draw], Tensor] | None = None


class Oracle(Protocol):
    """What a maximizer sees of alpha(x) = f(E[g(x)]): draws, the inner columns and the outer function.

    `acquisition.oracle.AcquisitionOracle` is one acquisition in one form; other implementations wrap BoTorch's
    acquisition functions and the problems of tests.
    """

    @property
    def pool_size(self) -> int:
        """Number of columns M of zeta: K for fresh samples, M for a pool."""
        ...

    def start(self, generator: Generator) -> None:
        """Begin a maximisation: draw the pool, seed the Sobol sequence. Everything random comes from `generator`."""
        ...

    def draw(self) -> Draw:
        """The samples of the next step."""
        ...

    def expectation_draw(self) -> Draw:
        """Every column of zeta at once: the whole pool, or one fresh draw (for zeta_0)."""
        ...

    def fixed_draw(self) -> Draw:
        """One sample kept for a whole run, the same at every call until the next `start` (L-BFGS-B, populations)."""
        ...

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """v at x; the pullback covers the first `gradient_rows` batches (None: all, 0: values only)."""
        ...

    @property
    def linear_outer(self) -> bool:
        """Whether f is the mean of the columns' utilities; False for a non-linear function of it (LogEI's log)."""
        ...

    @property
    def homogeneous_utility(self) -> bool:
        """Whether h(c v) = c h(v) for c > 0: only then may a tracker put (M/K) v in place of v (not under PI)."""
        ...

    def utility(self, v: Tensor) -> Tensor:
        """h, the utility of every column: (B, q, K) -> (B, K), for instance the maximum over the q points."""
        ...

    def outer(self, v: Tensor) -> Tensor:
        """f(v) = link((1/K) sum_k h(v_k)) on the v-scale: (B, q, K) -> (B,), over the columns given."""
        ...

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """(M/K) grad f at the K columns given, (B, q, K) -> (B, q, K), so that J_g^T of it estimates the gradient.

        mean_utility: the mean of h over all M columns of zeta, (B,), for an outer function that is not linear. None:
        the columns given are all there are.
        """
        ...

    def bytes_needed(self, restarts: int, tracked: bool = False) -> int:
        """Estimate of the working memory of one step, pool included; tracked: with a zeta on all columns."""
        ...
