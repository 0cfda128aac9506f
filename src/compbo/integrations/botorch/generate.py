"""`gen_candidates`: compbo's maximizers where BoTorch expects `gen_candidates_scipy`."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from botorch.acquisition.monte_carlo import SampleReducingMCAcquisitionFunction
from botorch.exceptions.warnings import OptimizationWarning

from compbo.acquisition.samples import DEFAULT_K, make_samples
from compbo.errors import OptionError
from compbo.inputs import whole_number
from compbo.integrations.botorch.evaluate import values_on_its_own_sample
from compbo.integrations.botorch.fast import fast_oracle
from compbo.integrations.botorch.frame import FramedOracle, make_frame
from compbo.integrations.botorch.oracles import PlainOracle, UtilityOracle
from compbo.integrations.botorch.samplers import NoBaseSamples, common_seed, with_fixed_samples
from compbo.maximizers import CATALOGUE, Maximizer, make_maximizer
from compbo.seeds import stream
from compbo.types import DTYPE, Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from compbo.acquisition.samples import Samples
    from compbo.integrations.botorch.frame import Frame
    from compbo.maximizers import Entry
    from compbo.types import Box, Oracle

DEFAULT_STEPS = 64

# Options that BoTorch and Ax put in for their own use; anything else that is not ours is a mistake worth an error.
FOREIGN_OPTIONS = {
    *("alpha", "batch_limit", "eta", "init_batch_limit", "n_burnin", "n_thinning", "nonnegative", "seed", "thinning"),
    *("sample_around_best", "sample_around_best_prob_perturb", "sample_around_best_sigma", "topn"),
    *("sample_around_best_subset_sigma", "max_optimization_problem_aggregation_size"),
}


def gen_candidates(
    maximizer: str | Maximizer | Callable[..., Any] = "CAdam-ME",
    *,
    steps: int = DEFAULT_STEPS,
    minibatch: int = DEFAULT_K,
    seed: int = 0,
    rounder: Callable[[Tensor], Tensor] | None = None,
    **hyperparameters: Any,
) -> CandidateGenerator:
    """A callable for `botorch.optim.optimize_acqf(..., gen_candidates=...)`, `optimize_acqf_mixed` and Ax.

    maximizer: a name of the catalogue or a `compbo.Maximizer`, with hyperparameters as further arguments, or a function
    with a `form` (docs/own_parts.md). steps, minibatch and seed can also be given to `optimize_acqf` as
    `options={"maxiter": ..., "minibatch": ..., "rng_seed": ...}`: BoTorch keeps an option called `seed` to itself.
    rounder: x -> the nearest valid x (whole numbers, choices); the acquisition function is evaluated there, and the
    gradient passes straight through.

    >>> optimize_acqf(acqf, bounds, q=4, num_restarts=16, raw_samples=256,
    ...               gen_candidates=gen_candidates("CAdam-ME", lr=0.05))  # doctest: +SKIP
    """
    return CandidateGenerator(chosen_maximizer(maximizer, hyperparameters), steps, minibatch, seed, rounder)


@dataclass(frozen=True)
class CandidateGenerator:
    """What `gen_candidates` returns: a value, which can be pickled and compared."""

    maximizer: Maximizer
    steps: int = DEFAULT_STEPS
    minibatch: int = DEFAULT_K
    seed: int = 0
    rounder: Callable[[Tensor], Tensor] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        if not isinstance(self.maximizer, Maximizer):
            raise ValueError(
                f"maximizer must be a compbo.Maximizer, got {self.maximizer!r}; gen_candidates takes names."
            )
        for name, least in (("steps", 1), ("minibatch", 1), ("seed", 0)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))

    def __call__(
        self,
        initial_conditions: Tensor,
        acquisition_function: Any,
        lower_bounds: float | Tensor | None = None,
        upper_bounds: float | Tensor | None = None,
        inequality_constraints: object = None,
        equality_constraints: object = None,
        nonlinear_inequality_constraints: object = None,
        options: Mapping[str, Any] | None = None,
        fixed_features: Mapping[int, float | Tensor] | None = None,
        timeout_sec: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Candidates (b x q x d) and their values (b), all on the same fixed sample."""
        if inequality_constraints or equality_constraints or nonlinear_inequality_constraints:
            raise ValueError(
                "compbo's maximizers know bounds and fixed features but no other constraints between inputs; "
                "use BoTorch's gen_candidates_scipy for this problem."
            )
        generator = self._with_options(options or {})
        shape = initial_conditions.shape
        if len(shape) not in (2, 3):
            raise ValueError(f"initial_conditions must be b x q x d or q x d, got shape {tuple(shape)}.")
        x0 = initial_conditions.detach().reshape(-1, *shape[-2:])
        if not bool(torch.isfinite(x0).flatten(1).all(1).any()):
            raise ValueError("initial_conditions must hold at least one batch, of finite numbers.")
        bounds = _bound(lower_bounds, x0, -torch.inf), _bound(upper_bounds, x0, torch.inf)
        if not bool((bounds[0] <= bounds[1]).all()):
            raise ValueError("lower_bounds must not exceed upper_bounds, nor be NaN.")
        deadline = None if timeout_sec is None else time.perf_counter() + timeout_sec
        fixed = _fixed_values(fixed_features or {}, x0)
        groups = _equal_rows(fixed, len(x0))
        candidates = torch.empty_like(x0)
        values = torch.empty(len(x0), dtype=x0.dtype, device=x0.device)
        for i, rows in enumerate(groups):
            own = {index: value[rows[0]] for index, value in fixed.items()}
            frame = make_frame(x0[rows], *bounds, own, self.rounder)
            left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3) / (len(groups) - i)
            candidates[rows], found = generator._climb(acquisition_function, x0[rows], frame, left)
            values[rows] = found.to(values)
        if not bool(torch.isfinite(values).any()):
            warnings.warn("no restart has a finite acquisition value", OptimizationWarning, stacklevel=2)
        return candidates.reshape(shape), values

    def _with_options(self, options: Mapping[str, Any]) -> CandidateGenerator:
        ours = {"maxiter": "steps", "minibatch": "minibatch", "rng_seed": "seed"}
        unknown = [name for name in options if name not in ours and name not in FOREIGN_OPTIONS]
        if unknown:
            raise OptionError(
                unknown[0],
                "option {name!r} is unknown; compbo takes {ours}, and hyperparameters as arguments of "
                "gen_candidates(...).",
                name=unknown[0],
                ours=", ".join(ours),
            )
        return replace(self, **{ours[name]: value for name, value in options.items() if name in ours})

    def _climb(self, acqf: Any, x0: Tensor, frame: Frame, seconds: float | None) -> tuple[Tensor, Tensor]:
        """The best of start, last and best point of every restart, on one fixed sample, and its value there."""
        yardstick = with_fixed_samples(acqf, common_seed(self.seed))
        values_at = values_on_its_own_sample(yardstick)
        u0 = frame.to_u(x0)
        if len(frame.free) == 0:
            x = frame.to_bounded_x(u0)
            return x, values_at(x)
        oracle = FramedOracle(self._oracle(acqf, yardstick, frame.to_x(u0)), frame)
        trace = self.maximizer(
            oracle,
            u0,
            budget=Budget(self.steps, seconds),
            box=_searchable(frame, self.maximizer),
            generator=stream(self.seed, "gen_candidates", _digest(u0)),
        )
        ends = [torch.where(torch.isfinite(u), u, u0) for u in (trace.final, trace.best)]
        points = torch.stack([frame.to_bounded_x(u) for u in (u0, *ends)])
        values = torch.stack([values_at(x) for x in points])
        chosen = values.argmax(0)
        rows = torch.arange(len(x0))
        return points[chosen.to(points.device), rows.to(points.device)], values[chosen, rows]

    def _oracle(self, acqf: Any, yardstick: Any, x0: Tensor) -> Oracle:
        """The acquisition function in the form that the maximizer wants."""
        entry = self.maximizer.entry
        if entry.form == "ERM" and entry.traits.one_draw:
            return PlainOracle(yardstick)
        if not isinstance(acqf, SampleReducingMCAcquisitionFunction):
            return _plain(yardstick, entry, f"{type(acqf).__name__} is not a sample-reducing Monte-Carlo acquisition")

        def samples(width: int) -> Samples:
            return make_samples(entry.form, width, minibatch=self.minibatch, steps=self.steps)

        fast = fast_oracle(acqf, x0.shape[1], samples)
        if fast is not None:
            return fast
        try:
            oracle = UtilityOracle(acqf, x0, samples, tracked=entry.traits.remembers)
        except NoBaseSamples as posterior:
            return _plain(yardstick, entry, f"the model's {posterior} has no normal base samples")
        if not oracle.separable and entry.form == "Comp" and entry.traits.remembers:
            raise ValueError(
                f"{entry.name} needs a sample reduction that is a mean or a logmeanexp, which {type(acqf).__name__} "
                "does not use; choose a maximizer with fresh samples, such as CAdam-ME or Adam-ERM."
            )
        return oracle


def chosen_maximizer(maximizer: str | Maximizer | Callable[..., Any], hyperparameters: Mapping[str, Any]) -> Maximizer:
    """The maximizer of that name, or as it is, with the hyperparameters; OptionError if there is none."""
    try:
        return make_maximizer(maximizer if callable(maximizer) else str(maximizer), **hyperparameters)
    except KeyError as error:
        raise OptionError("maximizer", "{option}: {reason}", reason=error.args[0]) from error


def _plain(acqf: Any, entry: Entry, reason: str) -> PlainOracle:
    """The bare acquisition value, for the maximizers that need no samples."""
    if entry.form == "ERM":
        return PlainOracle(acqf)
    able = ", ".join(other.name for other in CATALOGUE.values() if other.form == "ERM")
    raise ValueError(f"{reason}, so {entry.name} has no samples to work on; choose one of {able}.")


def _bound(bound: float | Tensor | None, x0: Tensor, absent: float) -> Tensor:
    """(d,) in double precision."""
    value = torch.as_tensor(absent if bound is None else bound).detach().to(device="cpu", dtype=DTYPE)
    d = x0.shape[-1]
    if value.numel() not in (1, d):
        raise ValueError(f"bounds must be one number or one for each of the {d} features, got {value.numel()}.")
    return value.flatten().expand(d)


def _searchable(frame: Frame, maximizer: Maximizer) -> Box:
    if maximizer.entry.order == 0 and not bool(torch.isfinite(frame.box.upper - frame.box.lower).all()):
        raise ValueError(f"{maximizer.name} draws from the whole box, so it needs finite bounds.")
    return frame.box


def _fixed_values(fixed_features: Mapping[int, float | Tensor], x0: Tensor) -> dict[int, Tensor]:
    """Every fixed feature as a tensor (b, q)."""
    b, q, d = x0.shape
    fixed = {}
    for index, value in fixed_features.items():
        if not -d <= index < d:
            raise ValueError(f"fixed_features: {index} is not one of the {d} features.")
        tensor = torch.as_tensor(value, dtype=x0.dtype, device=x0.device)
        if tensor.numel() == 1:
            tensor = tensor.reshape(1, 1)
        elif tensor.shape == (b,):
            tensor = tensor[:, None]
        elif tensor.shape != (b, q):
            raise ValueError(f"fixed_features: a tensor must have shape {b} or {b} x {q}, got {tuple(tensor.shape)}.")
        fixed[index % d] = tensor.expand(b, q)
    return fixed


def _equal_rows(fixed: dict[int, Tensor], b: int) -> list[Tensor]:
    """The restarts that share all fixed values, group by group: each group is one maximisation."""
    if not fixed:
        return [torch.arange(b)]
    _, group = torch.unique(torch.cat(list(fixed.values()), 1).cpu(), dim=0, return_inverse=True)
    return [(group == i).nonzero().squeeze(1) for i in range(int(group.max()) + 1)]


def _digest(u: Tensor) -> str:
    """A name of the start points: chunks of one call get streams of their own, and no counter is kept."""
    return hashlib.sha256(u.contiguous().numpy().tobytes()).hexdigest()[:32]
