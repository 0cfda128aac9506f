"""`gen_candidates`: compbo's maximizers where BoTorch expects `gen_candidates_scipy`."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from botorch.exceptions.warnings import OptimizationWarning

from compbo.acquisition.samples import DEFAULT_K
from compbo.errors import OptionError
from compbo.inputs import whole_number
from compbo.integrations.botorch.arguments import checked_bounds, checked_starts, equal_rows, fixed_values
from compbo.integrations.botorch.climb import climbed
from compbo.integrations.botorch.constraints import checked_constraints
from compbo.integrations.botorch.frame import make_frame
from compbo.maximizers import Maximizer, make_maximizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from compbo.integrations.botorch.constraints import Constraints

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
    `options={"maxiter": ..., "minibatch": ..., "rng_seed": ...}`: BoTorch does not pass on an option called `seed`.
    rounder: x -> the nearest valid x (whole numbers, choices); the acquisition function is evaluated there, and the
    gradient passes straight through.

    >>> optimize_acqf(acqf, bounds, q=4, num_restarts=16, raw_samples=256,
    ...               gen_candidates=gen_candidates("CAdam-ME", lr=0.05))  # doctest: +SKIP
    """
    return CandidateGenerator(chosen_maximizer(maximizer, hyperparameters), steps, minibatch, seed, rounder)


@dataclass(frozen=True)
class CandidateGenerator:
    """What `gen_candidates` returns: a value, which can be pickled and compared; fields as for `gen_candidates`."""

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
        inequality_constraints: Sequence[Any] | None = None,
        equality_constraints: Sequence[Any] | None = None,
        nonlinear_inequality_constraints: Sequence[Any] | None = None,
        options: Mapping[str, Any] | None = None,
        fixed_features: Mapping[int, float | Tensor] | None = None,
        timeout_sec: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Candidates (b x q x d) and their values (b), all on the same fixed sample, all feasible."""
        generator = self._with_options(options or {})
        x0 = checked_starts(initial_conditions)
        bounds = checked_bounds(lower_bounds, upper_bounds, x0.shape[-1])
        constraints = checked_constraints(
            inequality_constraints, equality_constraints, nonlinear_inequality_constraints, *x0.shape[1:]
        )
        self._refuse_rounding(constraints)
        deadline = None if timeout_sec is None else time.perf_counter() + timeout_sec
        fixed = fixed_values(fixed_features or {}, x0)
        groups = equal_rows(fixed, len(x0))
        candidates = torch.empty_like(x0)
        values = torch.empty(len(x0), dtype=x0.dtype, device=x0.device)
        for i, rows in enumerate(groups):
            own = {index: value[rows[0]] for index, value in fixed.items()}
            frame = make_frame(x0[rows], *bounds, own, self.rounder, constraints)
            left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3) / (len(groups) - i)
            candidates[rows], found = climbed(generator, acquisition_function, x0[rows], frame, constraints, left)
            values[rows] = found.to(values)
        if not bool(torch.isfinite(values).any()):
            where = " at a feasible point" if constraints.any else ""
            warnings.warn(f"no restart has a finite acquisition value{where}", OptimizationWarning, stacklevel=2)
        return candidates.reshape(initial_conditions.shape), values

    def _refuse_rounding(self, constraints: Constraints) -> None:
        if constraints.any and self.rounder is not None:
            raise ValueError(
                "rounder and constraints between inputs exclude each other, since a rounded point may violate them; "
                "fix the discrete features with BoTorch's optimize_acqf_mixed."
            )

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


def chosen_maximizer(maximizer: str | Maximizer | Callable[..., Any], hyperparameters: Mapping[str, Any]) -> Maximizer:
    """The maximizer of that name, or as it is, with the hyperparameters; OptionError if there is none."""
    try:
        return make_maximizer(maximizer if callable(maximizer) else str(maximizer), **hyperparameters)
    except KeyError as error:
        raise OptionError("maximizer", "{option}: {reason}", reason=error.args[0]) from error
