"""An `Acquisition` of Ax's modular BoTorch generator that compbo maximises."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import torch
from ax.adapter.transforms.one_hot import OH_PARAM_INFIX
from ax.generators.torch.botorch_modular.acquisition import Acquisition
from ax.generators.torch.botorch_modular.utils import validate_candidates
from ax.generators.utils import mk_discrete_choices

from compbo.errors import OptionError
from compbo.inputs import whole_number
from compbo.integrations.ax.batches import BegunBatches
from compbo.integrations.botorch.generate import CandidateGenerator, chosen_maximizer
from compbo.integrations.botorch.joint import DiscreteAxis, best_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

logger = logging.getLogger(__name__)

BEGUN = BegunBatches()


@dataclass(frozen=True)
class Options:
    """The options of `CompBOAcquisition`, as Ax's `optimizer_kwargs` has them: plain data that Ax can store.

    The fields are as for `compbo.integrations.ax.strategy.generation_strategy`.
    """

    maximizer: str = "CAdam-ME"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    seed: int = 0
    steps: int = 64
    minibatch: int = 128
    num_restarts: int = 20
    raw_samples: int = 1024

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        for name in ("batch_size", "num_restarts", "raw_samples"):
            whole_number(name, getattr(self, name))
        if self.num_restarts > self.raw_samples:
            raise OptionError(
                "num_restarts",
                "{option} must be at most {raw_samples} ({most}), got {given}.",
                most=self.raw_samples,
                given=self.num_restarts,
            )
        _ = self.generator  # checks the rest

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Options:
        """The options of a mapping; OptionError for a name that is not one of them."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise OptionError(
                    name,
                    "optimizer_kwargs: {name!r} is unknown to compbo, which takes {known}.",
                    name=name,
                    known=", ".join(known),
                )
        return cls(**given)

    @property
    def generator(self) -> CandidateGenerator:
        """The maximizer as BoTorch's `gen_candidates`."""
        maximizer = chosen_maximizer(self.maximizer, self.hyperparameters)
        return CandidateGenerator(maximizer, self.steps, self.minibatch, self.seed)


class CompBOAcquisition(Acquisition):  # type: ignore[misc]
    """An acquisition function of Ax that compbo maximises: the points of a trial together, all kinds of parameters.

    `generation_strategy` puts it into a generator spec. By hand, it is the `acquisition_class` of Ax's modular BoTorch
    generator, with the options of `generation_strategy` under `model_gen_options["optimizer_kwargs"]`. What compbo
    cannot do (constraints between parameters, a given set of candidates) is left to Ax, and a warning says so.
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
        """Maximise the acquisition function; the arguments are those of Ax's `Acquisition.optimize`.

        Returns:
            n candidates (n x d), their joint acquisition value, and a weight of 1 for each.
        """
        options = Options.from_mapping(optimizer_options or {})
        choices = mk_discrete_choices(ssd=search_space_digest, fixed_features=fixed_features)
        reason = self._left_to_ax(
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
        """n points of a joint batch: of one that was begun and is due in this state, or of a new one."""
        points = BEGUN.take(n, self.X_observed, self.X_pending, fixed_features)
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
                BEGUN.put(batch, n, self.X_observed, self.X_pending, fixed_features)
        with torch.no_grad():
            return points, self.evaluate(points.unsqueeze(0)).squeeze()

    def _known_points(self) -> Tensor | None:
        """The observed and the pending points: Ax refuses a point that repeats one of them, and asks again."""
        known = [points for points in (self.X_observed, self.X_pending) if points is not None]
        return torch.cat(known) if known else None

    def _left_to_ax(self, *, constrained: bool, selected: bool, discrete: bool) -> str | None:
        """Why Ax's own optimisation has to be used; None if compbo's can be."""
        if selected:
            return "candidates are to be selected from a given set"
        if constrained:
            return "compbo's search over mixed parameters knows no constraints between parameters"
        if discrete:
            return "every parameter is discrete, and Ax searches a discrete space exhaustively or locally"
        if self.acq_function_sequence is not None or len(self.botorch_acqf_classes_with_options) > 1:
            return "there are several acquisition functions"
        if self.options.get("prune_irrelevant_parameters", False):
            return "irrelevant parameters are to be pruned"
        return None


def _discrete_axes(digest: Any) -> list[DiscreteAxis]:
    """The discrete parameters: those with choices, and the one-hot blocks, which Ax passes as continuous features."""
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
