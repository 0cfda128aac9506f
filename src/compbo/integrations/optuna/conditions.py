"""The parameters of a study whose trials do not all have the same: which there are, and when they are there.

Optuna's objectives say it by an `if`, so it is read off the completed trials: a parameter is conditional on another if
the other's value tells whether it is there. What is guessed wrongly is put right by the first trial that disagrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optuna.trial import TrialState

from compbo.space import Bool, Categorical
from compbo.space.conditional import Condition, ConditionalSpace

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

    from compbo.space import Parameter, Scalar, Space

MOST_VALUES = 64  # of a parameter that decides about another


def union_search_space(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """The parameters of the completed trials that have one range only, however many trials have them.

    Args:
        trials: of the study.

    Returns:
        Distributions by name, in alphabetical order.
    """
    found: dict[str, BaseDistribution] = {}
    changing = set()
    for trial in trials:
        if trial.state == TrialState.COMPLETE:
            for name, distribution in trial.distributions.items():
                if found.setdefault(name, distribution) != distribution:
                    changing.add(name)
    return {name: found[name] for name in sorted(found) if name not in changing}


def conditional_space(space: Space, trials: Sequence[FrozenTrial]) -> ConditionalSpace:
    """The space of the parameters, with the conditions that the completed trials agree with.

    Args:
        space: of all parameters.
        trials: of the study.

    Returns:
        The same parameters with conditions.
    """
    completed = [trial.params for trial in trials if trial.state == TrialState.COMPLETE]
    often = {name: sum(name in params for params in completed) for name in space.names}
    # A parent is there more often than its child, so parents come first.
    names = sorted(space.names, key=lambda name: (-often[name], name))
    found = [_condition(child, names, space, completed) for child in names if often[child] < len(completed)]
    return ConditionalSpace(space.parameters, [condition for condition in found if condition is not None])


def _condition(
    child: str, names: Sequence[str], space: Space, completed: Sequence[Mapping[str, Any]]
) -> Condition | None:
    """The condition of a child: of those that agree with all trials, that of the parent with the fewest values."""
    fitting = []
    for parent in names:
        parameter = space.parameters[parent]
        if parent == child or parameter.levels is None or len(parameter.levels) > MOST_VALUES:
            continue
        if any(child in params and parent not in params for params in completed):
            continue
        there = {params[parent] for params in completed if child in params}
        absent = {params[parent] for params in completed if child not in params and parent in params}
        without = _values_without(parameter, there, absent)
        if without:
            fitting.append((len(parameter.levels), Condition(child, parent, without)))
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else None


def _values_without(parameter: Parameter, there: Collection[Any], absent: Collection[Any]) -> tuple[Scalar, ...]:
    """The values of a parent for which a child is left out; none if the trials do not say so.

    Choices count one by one, numbers by a threshold: `if layers > 2`.
    """
    levels = parameter.levels or ()
    if not there or not absent:
        return ()
    if isinstance(parameter, Categorical | Bool):
        return () if set(there) & set(absent) else tuple(value for value in levels if value in absent)
    if max(absent) < min(there):
        return tuple(value for value in levels if value <= max(absent))
    if min(absent) > max(there):
        return tuple(value for value in levels if value >= min(absent))
    return ()
