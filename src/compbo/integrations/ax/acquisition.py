"""An `Acquisition` of Ax's modular BoTorch generator that is optimised by compbo."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import torch
from ax.adapter.transforms.one_hot import OH_PARAM_INFIX
from ax.generators.torch.botorch_modular.acquisition import Acquisition
from ax.generators.torch.botorch_modular.utils import validate_candidates
from ax.generators.utils import mk_discrete_choices

from compbo.checks import whole_number
from compbo.integrations.ax.plans import Plans
from compbo.integrations.botorch.generate import CandidateGenerator, chosen_maximizer
from compbo.integrations.botorch.joint import DiscreteAxis, best_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

logger = logging.getLogger(__name__)

PLANS = Plans()


@dataclass(frozen=True)
class Options:
    """The optimizer options of `CompBOAcquisition`: plain data, so that Ax can store them."""

    maximizer: str = "CAdam-ME"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    seed: int = 0
    steps: int = 64
    minibatch: int = 128
    num_restarts: int = 20
    raw_samples: int = 1024

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Checked options; ValueError for a name that is not one of them."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise ValueError(f"optimizer_kwargs: {name!r} is unknown to compbo, which takes {', '.join(known)}.")
        options = cls(**given)
        for name in ("batch_size", "num_restarts", "raw_samples"):
            whole_number(name, getattr(options, name))
        if options.num_restarts > options.raw_samples:
            raise ValueError(
                f"num_restarts must be at most raw_samples ({options.raw_samples}), got {options.num_restarts}."
            )
        _ = options.generator  # checks the rest
        return options

    @property
    def generator(self) -> CandidateGenerator:
        """The maximizer as BoTorch's `gen_candidates`."""
        maximizer = chosen_maximizer(self.maximizer, self.hyperparameters)
        return CandidateGenerator(maximizer, self.steps, self.minibatch, self.seed)


class CompBOAcquisition(Acquisition):  # type: ignore[misc]
    """Finds the points of a trial together, continuous and discrete parameters at once.

    Options are those of `Options`, under `model_gen_options["optimizer_kwargs"]` of the generator spec. Where compbo
    does not know how, Ax's own optimisation is used, and a warning says why.
    """

    def optimize(
        self,
        n: int,
        search_space_digest: Any,
        inequality_constraints: list[tuple[Tensor, Tensor, float]] | None = None,
        equality_constraints: list[tuple[Tensor, Tensor, float]] | None = None,
        fixed_features: dict[int, float] | None = None,
        rounding_func: Callable[[Tensor], Tensor] | None = None,
        optimizer_options: dict[str, Any] | None = None,
        candidate_set: Tensor | None = None,
        sampling_strategy: Any = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """n candidates (n x d), their joint acquisition value, and a weight of 1 for each."""
        options = Options.of(optimizer_options or {})
        choices = mk_discrete_choices(ssd=search_space_digest, fixed_features=fixed_features)
        reason = self._not_for_us(
            constrained=bool(inequality_constraints or equality_constraints),
            selected=candidate_set is not None or sampling_strategy is not None,
            discrete=len(choices) == len(search_space_digest.feature_names),
        )
        if reason:
            logger.warning("Ax's own optimisation of the acquisition function is used: %s.", reason)
            return super().optimize(  # type: ignore[no-any-return]
                n,
                search_space_digest,
                inequality_constraints=inequality_constraints,
                equality_constraints=equality_constraints,
                fixed_features=fixed_features,
                rounding_func=rounding_func,
                optimizer_options={"num_restarts": options.num_restarts, "raw_samples": options.raw_samples},
                candidate_set=candidate_set,
                sampling_strategy=sampling_strategy,
            )
        bounds = torch.tensor(search_space_digest.bounds, dtype=self.dtype, device=self.device).t()
        axes = _discrete_axes(search_space_digest)
        candidates, value = self._joint(n, bounds, axes, fixed_features, rounding_func, options)
        validate_candidates(
            candidates=candidates,
            bounds=bounds,
            discrete_choices=choices or None,
            inequality_constraints=None,
            feature_names=search_space_digest.feature_names,
            task_features=search_space_digest.task_features,
        )
        return candidates, value, torch.ones(n, dtype=self.dtype)

    def _joint(
        self,
        n: int,
        bounds: Tensor,
        axes: list[DiscreteAxis],
        fixed_features: dict[int, float] | None,
        rounding_func: Callable[[Tensor], Tensor] | None,
        options: Options,
    ) -> tuple[Tensor, Tensor]:
        """n points of a joint batch: of one that was begun for just this state of the experiment, or of a new one."""
        points = PLANS.take(n, self.X_observed, self.X_pending, fixed_features)
        if points is None:
            batch, _ = best_batch(
                self.acqf,
                bounds,
                max(n, options.batch_size),
                options.generator,
                raw_batches=options.raw_samples,
                restarts=options.num_restarts,
                axes=axes,
                fixed_features=fixed_features,
                known=self._known_points(),
            )
            batch = batch if rounding_func is None else rounding_func(batch)
            points = batch[:n]
            if len(batch) > n:
                PLANS.put(batch, n, self.X_observed, self.X_pending, fixed_features)
        with torch.no_grad():
            return points, self.evaluate(points.unsqueeze(0)).squeeze()

    def _known_points(self) -> Tensor | None:
        """Observed and pending ones: Ax refuses a point that repeats one of them, and asks again."""
        known = [points for points in (self.X_observed, self.X_pending) if points is not None]
        return torch.cat(known) if known else None

    def _not_for_us(self, *, constrained: bool, selected: bool, discrete: bool) -> str | None:
        if selected:
            return "candidates are to be selected from a given set"
        if constrained:
            return "compbo's maximizers know no constraints between parameters"
        if discrete:
            return "every parameter is discrete, and Ax searches such spaces exhaustively or locally"
        if self.acq_function_sequence is not None or len(self.botorch_acqf_classes_with_options) > 1:
            return "there are several acquisition functions"
        if self.options.get("prune_irrelevant_parameters", False):
            return "irrelevant parameters are to be pruned"
        return None


def _discrete_axes(digest: Any) -> list[DiscreteAxis]:
    """Parameters with choices, and Ax's one-hot blocks, which it passes as continuous features."""
    axes = [DiscreteAxis((i,), torch.tensor(sorted(values))[:, None]) for i, values in digest.discrete_choices.items()]
    blocks: dict[str, list[int]] = {}
    for i, name in enumerate(digest.feature_names):
        parameter, infix, _ = name.rpartition(OH_PARAM_INFIX)
        if infix:
            blocks.setdefault(parameter, []).append(i)
    for columns in blocks.values():
        one_column = len(columns) == 1  # two choices
        axes.append(
            DiscreteAxis(tuple(columns), torch.tensor([[0.0], [1.0]]) if one_column else torch.eye(len(columns)))
        )
    return axes
