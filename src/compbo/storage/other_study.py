"""A study that another program wrote with Optuna: what its trials share, and what Optuna says of the rest."""

from __future__ import annotations

import logging
import math
import warnings
from typing import TYPE_CHECKING, Any

from compbo.records import COMPLETE, PRUNED, RUNNING, StudyFacts
from compbo.space import Space
from compbo.storage.connect import quiet_optuna

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

    from compbo.records import Record

EVALUATOR = "PED-ANOVA"  # needs no other package, and knows parameters that not every trial has

log = logging.getLogger(__name__)


def shared_space(trials: Sequence[FrozenTrial]) -> Space:
    """The parameters that every completed trial has, with one range; ValueError if there is none.

    While nothing is complete, all trials count that have parameters.
    """
    counted = [trial for trial in trials if trial.state.name == COMPLETE] or [trial for trial in trials if trial.params]
    first = counted[0].distributions if counted else {}
    shared = {
        name: distribution
        for name, distribution in sorted(first.items())
        if all(trial.distributions.get(name) == distribution for trial in counted)
    }
    if not shared:
        raise ValueError("The trials of this study have no parameter with one definition in common.")
    return Space.from_optuna(shared)


def point_in(space: Space, record: Record) -> dict[str, Any] | None:
    """The point that a model sees of a trial; None if it lacks one of the shared parameters, or was pruned.

    A pruned trial has neither succeeded nor failed.
    """
    if record.state == PRUNED or not set(space.names) <= record.params.keys():
        return None
    try:
        return space.validate({name: record.params[name] for name in space.names})
    except ValueError:  # the range was another one then
        return None


def _last_reported(trial: FrozenTrial) -> float | None:
    """The last value that a pruned trial reported; None if it reported none, or none that is finite."""
    value = trial.intermediate_values.get(trial.last_step) if trial.last_step is not None else None
    return value if value is not None and math.isfinite(value) else None


def study_facts(storage: BaseStorage, study_id: int, records: Sequence[Record], space: Space) -> StudyFacts:
    """What the report of a study, by its storage and study_id, needs beyond the shared space; records: its trials."""
    ended = [record for record in records if record.state != RUNNING]
    trials = storage.get_all_trials(study_id, deepcopy=False)
    reported = {trial.number: _last_reported(trial) for trial in trials if trial.state.name == PRUNED}
    return StudyFacts(
        records=ended,
        modelled=[place for place, record in enumerate(ended) if point_in(space, record) is not None],
        running=len(records) - len(ended),
        reported={number: value for number, value in reported.items() if value is not None},
        definitions=_definitions(trials, space),
        importance=_importance(storage, study_id),
        evaluator=EVALUATOR,
    )


def _definitions(trials: Sequence[FrozenTrial], space: Space) -> dict[str, tuple[str, str]]:
    """Kind and range of the parameters that are not shared, and how many trials have them."""
    found: dict[str, list[Any]] = {}
    started = [trial for trial in trials if trial.params]
    for trial in started:
        for name, distribution in trial.distributions.items():
            if name not in space.parameters:
                found.setdefault(name, []).append(distribution)
    return {name: (_kind(each), _range(each, len(started))) for name, each in found.items()}


def _kind(distributions: Sequence[Any]) -> str:
    return {"FloatDistribution": "float", "IntDistribution": "int"}.get(type(distributions[0]).__name__, "categorical")


def _range(distributions: Sequence[Any], trials: int) -> str:
    kinds = list(dict.fromkeys(map(_words, distributions)))
    several = f" and {len(kinds) - 1} other ranges" if len(kinds) > 2 else f" and {kinds[1]}" if len(kinds) > 1 else ""
    return f"{kinds[0]}{several}, in {len(distributions)} of {trials} trials"


def _words(distribution: Any) -> str:
    choices = getattr(distribution, "choices", None)
    if choices is not None:
        return ", ".join(map(str, choices))
    return f"{distribution.low} to {distribution.high}{', log' if distribution.log else ''}"


def _importance(storage: BaseStorage, study_id: int) -> dict[str, float]:
    """Shares of all parameters by Optuna's PED-ANOVA, the largest first; empty where Optuna cannot say."""
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator

    name = storage.get_study_name_from_id(study_id)
    with quiet_optuna(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older versions call it experimental
        study = optuna.load_study(study_name=name, storage=storage)
        try:
            found = optuna.importance.get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
        except (ValueError, RuntimeError, ArithmeticError) as error:  # fewer than two completed trials, or none differ
            log.info("Optuna cannot say how important the parameters are: %s", error)
            return {}
    return dict(found) if all(map(math.isfinite, found.values())) else {}
