"""BoTorch's acquisition functions as oracles of compbo's maximizers.

A sample-reducing Monte-Carlo acquisition function computes S(Q(v)): v its utility for every sample and point, Q the
reduction over the q points, S the one over samples. That is f(E[g(x)]) with g = v and f = S o Q for every
acquisition function of this kind: none of them is known by name here.

If v is in log space (qLogEI and its kin: Q a smooth maximum of logarithms, S = logmeanexp), an average of v is not an
expectation of anything useful. A tracked oracle then works on w = exp(v - s), s the restart's largest v at the start:
zeta estimates the expected utility and f(w) = s + log mean_k exp(Q(log w)) is a non-linear function of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from botorch.utils.safe_math import logmeanexp

from compbo.acquisition.samples import Sampled
from compbo.integrations.botorch.compat import reductions
from compbo.integrations.botorch.evaluate import differentiate, row_by_row_where_it_fails
from compbo.integrations.botorch.samplers import GivenSampler, ProbeSampler, with_base_samples
from compbo.types import DTYPE, POOL_FORMS, Draw, Inner

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.acquisition.samples import Samples

LARGEST_EXPONENT = 600.0  # of w, which is cut off there: exp(710) overflows
TINY = 1e-290  # below it w counts as 0
HOMOGENEOUS = 1e-6  # how far h(2 v) may be from 2 h(v), as a part of the largest utility


class UtilityOracle(Sampled):
    """draw / inner / outer of `acqf`, any `SampleReducingMCAcquisitionFunction`: see `compbo.types.Oracle`.

    tracked: whether the maximizer averages v over steps, so that it must be on the scale of the utility.
    """

    def __init__(self, acqf: Any, x0: Tensor, make_samples: Callable[[int], Samples], *, tracked: bool) -> None:
        """x0 (B, q, d): the start points, in the caller's units; make_samples: width of z -> where z comes from."""
        self._q_reduction, self._sample_reduction = reductions(acqf)
        self._dims = len(acqf.sample_shape)
        probe = ProbeSampler(self._dims)
        with torch.no_grad():
            start = self._samples_of_v(with_base_samples(acqf, probe), x0)
        self._shape = start.shape[self._dims + 1 :]  # (q,), or (ensemble members, q)
        super().__init__(make_samples(probe.width))
        self._sampler = GivenSampler(self._dims)
        self._twin = with_base_samples(acqf, self._sampler)
        function = getattr(self._sample_reduction, "func", None)
        self.separable = function in (torch.mean, logmeanexp)  # f = link(mean of h)
        self.linear_outer = not (acqf._log and tracked and function is logmeanexp)
        if not self.linear_outer:
            largest = self._arrange(start).amax((1, 2)).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
            self._shift = largest[:, None, None]  # s
        with torch.no_grad():
            self.homogeneous_utility = self._is_homogeneous(self._scaled(self._arrange(start)))

    # -- g --------------------------------------------------------------------------------------------------------

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """v (B, q, K) at x (B, q, d) and the way back."""
        self._sampler.use(draw.z)
        return differentiate(self._columns, x, gradient_rows)

    def _columns(self, x: Tensor) -> Tensor:
        """v or, where a tracker averages it and it is a logarithm, w = exp(v - s)."""
        shape = (self._shape.numel(), self._sampler.sample_shape[0])
        v = row_by_row_where_it_fails(lambda rows: self._arrange(self._samples_of_v(self._twin, rows)), x, shape)
        return self._scaled(v)

    def _scaled(self, v: Tensor) -> Tensor:
        if self.linear_outer:
            return v
        # A step evaluates the restarts and, after them, their query points.
        shift = self._shift.repeat(len(v) // len(self._shift), 1, 1)
        return (v - shift).clamp_max(LARGEST_EXPONENT).exp()

    def _samples_of_v(self, twin: Any, x: Tensor) -> Tensor:
        """v, sample_shape x B x ... x q: what enters the q-reduction, pending points and constraints included."""
        seen: list[Tensor] = []

        def record(v: Tensor) -> Tensor:
            seen.append(v)
            reduced: Tensor = self._q_reduction(v)
            return reduced

        twin._q_reduction = record
        twin(x)
        if len(seen) != 1 or seen[0].shape[self._dims] != len(x):
            raise ValueError(
                f"{type(twin).__name__} does not reduce one utility per sample and point: it has no compositional form."
            )
        return seen[0]

    def _arrange(self, v: Tensor) -> Tensor:
        """(K, 1..., B, ..., q) -> (B, rows, K)."""
        flat = v.reshape(v.shape[0], v.shape[self._dims], -1)
        return flat.permute(1, 2, 0).to(device="cpu", dtype=DTYPE)

    def _restore(self, v: Tensor) -> Tensor:
        """The inverse of `_arrange`."""
        b, _, k = v.shape
        return v.permute(2, 0, 1).reshape(k, *(1,) * (self._dims - 1), b, *self._shape)

    # -- f --------------------------------------------------------------------------------------------------------

    def utility(self, v: Tensor) -> Tensor:
        """h: the utility of every column, averaged over the members of an ensemble."""
        reduced = self._q_reduction(self._restore(v)) if self.linear_outer else self._reduced_utility(v)
        return reduced.reshape(v.shape[-1], len(v), -1).mean(-1).mT

    def _is_homogeneous(self, v: Tensor) -> bool:
        """Whether h(2 v) = 2 h(v) at the columns given: what no reduction says of itself can be tried out."""
        h, twice = (self.utility(scale * v).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0) for scale in (1.0, 2.0))
        return bool((twice - 2.0 * h).abs().max() <= HOMOGENEOUS * h.abs().max())

    def _reduced_utility(self, w: Tensor) -> Tensor:
        """exp(Q(log w)): the utility in units of exp(s)."""
        reduced: Tensor = self._q_reduction(self._restore(w.clamp_min(TINY).log()))
        return reduced.exp()

    def outer(self, v: Tensor) -> Tensor:
        """S(Q(v)): the acquisition value on the columns given."""
        if not self.linear_outer:
            v = v.clamp_min(TINY).log() + self._shift
        value: Tensor = self._sample_reduction(self._q_reduction(self._restore(v)))
        return value

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """(M/K) grad f at the columns given.

        In log space grad f = grad h / mean h. A change of one point's utility changes the largest of q by at most as
        much, so grad h is cut off at 1. Without that, a smooth maximum of logarithms has a gradient without bound
        where a point's zeta is almost 0, and one sample there would outweigh all others.
        """
        with torch.enable_grad():
            free = zeta.detach().clone().requires_grad_()
            total = (self.outer(free) if self.linear_outer else self._reduced_utility(free)).sum()
        (gradient,) = torch.autograd.grad(total, free)
        if self.linear_outer:
            return gradient
        mean = self.utility(zeta).mean(-1) if mean_utility is None else mean_utility
        members = self._shape.numel() // self._shape[-1]
        scale = members * zeta.shape[-1] * mean.clamp_min(TINY)
        return gradient.clamp_max(1.0) / scale[:, None, None]

    def bytes_needed(self, restarts: int, tracked: bool = False) -> int:
        """The pool, zeta on it and the columns of a step, with what autograd keeps of them."""
        rows, k, m = self._shape.numel(), self.samples.minibatch, self.pool_size
        pool = m if self.samples.form in POOL_FORMS else 0
        zeta = 3 * m if tracked else 0  # while zeta_0 is made, three arrays of its size exist
        return 8 * (self.samples.width * pool + restarts * rows * (zeta + 12 * k))


class PlainOracle:
    """The value of `acqf` as it is: one column, one row, no samples.

    For analytic, look-ahead and multi-objective acquisition functions, which the maximizers without a tracker can
    climb. v = alpha(x), f the identity.
    """

    pool_size = 1
    linear_outer = homogeneous_utility = True

    def __init__(self, acqf: Any) -> None:
        self._acqf = acqf

    def start(self, generator: Generator) -> None:
        """Do nothing: no samples are drawn."""

    def draw(self) -> Draw:
        """The one column."""
        return Draw(torch.zeros(1, 1, dtype=DTYPE))

    expectation_draw = fixed_draw = draw

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:  # noqa: ARG002 - no samples
        """alpha (B, 1, 1) and its gradient."""
        return differentiate(lambda rows: row_by_row_where_it_fails(self._value, rows, (1, 1)), x, gradient_rows)

    def _value(self, x: Tensor) -> Tensor:
        value: Tensor = self._acqf(x).to(device="cpu", dtype=DTYPE)
        return value[:, None, None]

    def utility(self, v: Tensor) -> Tensor:
        """alpha, (B, 1)."""
        return v[:, 0]

    def outer(self, v: Tensor) -> Tensor:
        """alpha, (B,)."""
        return v[:, 0, 0]

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:  # noqa: ARG002 - linear
        """1 for every batch."""
        return torch.ones_like(zeta)

    def bytes_needed(self, restarts: int, tracked: bool = False) -> int:  # noqa: ARG002 - nothing is tracked
        """A few numbers; the model's own memory is not known here."""
        return 8 * restarts
