"""The sampler: the points of a study's trials, suggested from the history that its storage holds."""

from __future__ import annotations

import logging
import math
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import StudyDirection
from optuna.trial import TrialState

from compbo.bo.settings import Settings
from compbo.bo.starts import StartPolicy
from compbo.bo.suggest import suggest
from compbo.inputs import whole_number
from compbo.integrations.optuna.claims import holds
from compbo.integrations.optuna.conditions import union_search_space
from compbo.integrations.optuna.planning import Decision, decide, first_of_block
from compbo.integrations.optuna.trials import CONSTRAINTS, FINAL, PLAN, POINT, Reader, publish
from compbo.seeds import derive_seed
from compbo.space import Space
from compbo.storage.trials import ASK
from compbo.types import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.portfolio import Portfolio
    from compbo.bo.history import History
    from compbo.bo.suggest import Suggestion
    from compbo.integrations.optuna.trials import StudyView
    from compbo.maximizers import Maximizer

logger = logging.getLogger(__name__)

CHANGING = "only parameters that have one range in all completed trials are optimised together."
ATTEMPTS = 5  # to find a point that no other trial has


class CompBOSampler(BaseSampler):
    """Bayesian optimisation with compositional maximisation, for studies with one objective.

    A suggestion depends on the seed and on what is in the storage, not on what this object did before: a resumed study
    goes on like one that was not stopped, and any number of processes may work on one study. Running trials are
    pending points.

    Args:
        acquisition: as in `compbo.Settings`.
        maximizer: a name of the catalogue, or a `compbo.Maximizer`.
        batch_size: how many consecutive trials are planned together, as one joint batch: the number of workers.
        seed: the source of everything random; None draws one.
        n_startup_trials: trials before the first that uses a model.
        independent_sampler: for parameters that no completed trial has, or whose range changes; None: uniform, from
            the seed and the trial's number.
        constraints_func: at most 0 where feasible, as in Optuna's samplers; `Trial.set_constraint` is read too.
        warn_independent_sampling: whether to log the parameters that stay outside the model.
        hyperparameters: of the maximizer, where it is given by its name.
        noise: standard deviation of the values, 0 for none; None to learn it.
        kernel: of the Gaussian process, "matern52", "se", "linear" or "cosine".
        priors: of its hyperparameters, "shared-choices", "paper" or "dimension-scaled".
        outputs: transform of the values before the fit, as in `compbo.Settings`.
        inputs: warp of the parameters in front of the kernel, as in `compbo.Settings`.
        raw_batches: batches among which the start points are chosen.
        restarts: start points of a maximisation.
        steps: of a maximisation.
        minibatch: samples of one step.
    """

    def __init__(
        self,
        *,
        acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition] = "portfolio",
        maximizer: str | Maximizer | Callable[..., Any] = "CAdam",
        batch_size: int = 1,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        warn_independent_sampling: bool = True,
        hyperparameters: Mapping[str, Any] | None = None,
        noise: float | None = None,
        kernel: str = "matern52",
        priors: str = "shared-choices",
        outputs: str = "auto",
        inputs: str = "none",
        raw_batches: int = 1024,
        restarts: int = 32,
        steps: int = 64,
        minibatch: int = 128,
    ) -> None:
        """Check every option: an OptionError names the one that is wrong."""
        self._settings = Settings(
            acquisition=acquisition,
            maximizer=maximizer,
            hyperparameters=hyperparameters or {},
            batch_size=batch_size,
            seed=secrets.randbits(31) if seed is None else seed,
            initial_points=max(1, whole_number("n_startup_trials", n_startup_trials, 0)),
            noise=noise,
            kernel=kernel,
            priors=priors,
            outputs=outputs,
            inputs=inputs,
            starts=StartPolicy(raw_batches, restarts),
            budget=Budget(steps),
            minibatch=minibatch,
        )
        self._independent_sampler = independent_sampler
        self._constraints_func = constraints_func
        self._warn_independent_sampling = warn_independent_sampling

    def reseed_rng(self) -> None:
        """Nothing to do here: numbers depend on the trial. An independent sampler of the user's is reseeded."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters of all completed trials, conditional ones too, without those that can take one value only.

        A parameter whose range changes from trial to trial is left to the independent sampler.
        """
        del trial
        known = union_search_space(study.get_trials(deepcopy=False))
        return {name: found for name, found in known.items() if not found.single() and not _obstacle(name, found)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The trial's place in the joint batch of its block; published before anything is evaluated."""
        self._check(study)
        storage, trial_id = study._storage, trial._trial_id
        if not search_space:
            publish(storage, trial_id, POINT, {})
            return {}
        try:
            decision = self._claimed(
                study, trial, Reader(dict(sorted(search_space.items())), study.get_trials(deepcopy=False))
            )
        except BaseException:
            publish(storage, trial_id, POINT, {})  # it evaluates nothing: others need not work out or avoid its point
            raise
        storage.set_trial_system_attr(trial_id, FINAL, True)
        if decision.telemetry is not None:
            publish(storage, trial_id, ASK, {"telemetry": decision.telemetry.to_dict(), "rest": []})
        return dict(decision.point)

    def _claimed(self, study: Study, trial: FrozenTrial, reader: Reader) -> Decision:
        """A decision whose point is published and no other trial's."""
        storage, trial_id = study._storage, trial._trial_id
        maximize = study.direction == StudyDirection.MAXIMIZE
        settings = replace(self._settings, direction="maximize" if maximize else "minimize")
        batches_from = first_of_block(trial.number, settings.batch_size)

        def look() -> StudyView:
            return reader.view(study.get_trials(deepcopy=False), without=trial.number, batches_from=batches_from)

        def suggest_points(history: History, count: int) -> Suggestion:
            return suggest(reader.space, settings, history, count)

        decision = decide(trial.number, settings.batch_size, look, suggest_points)
        if decision.batch is not None and len(decision.batch.points) > 1:
            publish(storage, trial_id, PLAN, {"anchor": decision.batch.anchor, "points": decision.batch.points})
        publish(storage, trial_id, POINT, decision.point)
        for _ in range(ATTEMPTS):
            if settings.noise or holds(decision.point, trial.number, look):
                break
            again = decide(trial.number, 1, look, suggest_points)  # with the winner's point pending
            if again.point == decision.point:
                break  # the space is used up
            decision = again
            publish(storage, trial_id, POINT, decision.point)
        return decision

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value for a parameter that is not, or not yet, part of the common space."""
        self._check(study)
        if self._warn_independent_sampling and _could_have_known(study, trial, param_name):
            self._warn_independent_sampling = False
            logger.warning(
                "Parameter %r of trial %d is drawn on its own, outside the model: %s This is said once; "
                "warn_independent_sampling=False silences it.",
                param_name,
                trial.number,
                _obstacle(param_name, param_distribution) or CHANGING,
            )
        sampler = self._independent_sampler
        if sampler is None:
            sampler = RandomSampler(derive_seed(self._settings.seed, "independent", trial.number, param_name) % 2**32)
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Tell the independent sampler."""
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Store the constraints of a trial that ran to its end."""
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            constraints = [float(value) for value in self._constraints_func(trial)]
            if any(math.isnan(value) for value in constraints):
                raise ValueError("constraints_func returned NaN; a constraint is a number, at most 0 where feasible.")
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, constraints)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def _check(self, study: Study) -> None:
        if len(study.directions) != 1:
            raise ValueError(f"CompBOSampler optimises one objective; this study has {len(study.directions)}.")


def _could_have_known(study: Study, trial: FrozenTrial, name: str) -> bool:
    """Whether some trial with this parameter was complete when this one began."""
    completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    ends = [other.datetime_complete for other in completed if name in other.distributions]
    start = trial.datetime_start
    return start is not None and any(end is not None and end <= start for end in ends)


def _obstacle(name: str, distribution: BaseDistribution) -> str:
    """Why a space has no room for it, if so: choices that are equal in Python, millions of steps."""
    try:
        Space.from_optuna({name: distribution})
    except ValueError as error:
        return str(error)
    return ""
