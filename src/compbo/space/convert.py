"""Parameters from other notations: tables (JSON, TOML), Optuna distributions, Bayesmark's api_config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from compbo.space.parameters import Bool, Categorical, Constant, DefinitionError, Ordinal, Parameter, Scalar, plain
from compbo.space.ranges import Float, Int

if TYPE_CHECKING:
    from collections.abc import Callable

    from optuna.distributions import BaseDistribution, IntDistribution

KINDS: dict[str, type[Parameter]] = {cls.kind: cls for cls in (Float, Int, Bool, Categorical, Ordinal, Constant)}

# Integers with a step become a list of values; a longer list than this is refused.
_MOST_STEPS = 100_000


def _all_named(make: Callable[[str, Any], Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What `make` makes of every entry and its name; ValueError, with the name, where it cannot be a parameter."""
    made = {}
    for name, entry in given.items():
        try:
            made[name] = make(name, entry)
        except DefinitionError as error:
            raise error.of(name) from None
    return made


def from_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from one table each, {"type": "float", "low": ...}; a plain value instead of a table is a constant."""
    if not isinstance(tables, Mapping):
        raise ValueError(f"A space must be a table of parameters, got {type(tables).__name__}.")
    return _all_named(_from_entry, tables)


def _from_entry(name: str, entry: Any) -> Any:
    return _from_table(name, entry) if isinstance(entry, Mapping) else _constant(name, entry)


def _constant(name: str, value: Any) -> Any:
    if not isinstance(plain(value), Scalar) and not isinstance(value, Parameter):
        raise ValueError(
            f'Parameter "{name}": {value!r} is neither a table with a type nor a constant '
            "(a string, a number, true or false)."
        )
    return value


def _from_table(name: str, table: Mapping[str, Any]) -> Parameter:
    kind = table.get("type")
    if kind is None:
        raise ValueError(f'Parameter "{name}": the key "type" is missing, use one of {", ".join(KINDS)}.')
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f'Parameter "{name}": unknown type {kind!r}, use one of {", ".join(KINDS)}.')
    cls = KINDS[kind]
    known = {field.name: field.default is MISSING for field in fields(cls)}  # type: ignore[arg-type]
    given = {key: value for key, value in table.items() if key != "type"}
    takes = f"type {kind} takes {', '.join(known) or 'no other key'}"
    for key in given:
        if key not in known:
            raise ValueError(f'Parameter "{name}": unknown key "{key}", {takes}.')
    for key, required in known.items():
        if required and key not in given:
            raise ValueError(f'Parameter "{name}": the key "{key}" is missing, {takes}.')
    return cls(**given)


def from_optuna(distributions: Mapping[str, BaseDistribution]) -> dict[str, Parameter]:
    """Optuna's distributions as parameters; integers with a step become an Ordinal of them, {False, True} a Bool."""
    return _all_named(_from_distribution, distributions)


def _from_distribution(name: str, distribution: BaseDistribution) -> Parameter:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        choices = distribution.choices
        both = len(choices) == 2 and all(isinstance(choice, bool) for choice in choices) and choices[0] != choices[1]
        return Bool() if both else Categorical(choices)
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise ValueError(f'Parameter "{name}": no parameter for the distribution {distribution!r}.')
    scale = "log" if distribution.log else "linear"
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, scale, distribution.step)
    if distribution.step == 1:
        return Int(distribution.low, distribution.high, scale)
    return Ordinal(_whole_steps(name, distribution))


def _whole_steps(name: str, distribution: IntDistribution) -> range:
    """low, low + step, ... up to high."""
    steps = range(distribution.low, distribution.high + 1, distribution.step)
    if len(steps) > _MOST_STEPS:
        raise ValueError(
            f'Parameter "{name}": step {steps.step} makes {len(steps)} values; leave it out or take a larger one.'
        )
    return steps


def on_its_step(value: Any, distribution: BaseDistribution) -> Any:
    """The value on the step of an Optuna distribution: 0.30000000000000004 becomes 0.3 if the step is 0.1.

    Optuna's samplers add steps up, a space has decimals.
    """
    from optuna.distributions import FloatDistribution

    if not isinstance(distribution, FloatDistribution) or distribution.step is None or isinstance(value, bool):
        return value
    steps = round((float(value) - distribution.low) / distribution.step)
    return float(Decimal(str(distribution.low)) + steps * Decimal(str(distribution.step)))


def to_optuna(parameters: Mapping[str, Parameter]) -> dict[str, BaseDistribution]:
    """Distributions that accept every point of these parameters that can be suggested.

    Optuna has neither logit nor bilog scales, which become linear, nor digits or a step on a log scale, which are left
    out.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def distribution(parameter: Parameter) -> BaseDistribution:
        if isinstance(parameter, Float):
            log = parameter.scale == "log"
            return FloatDistribution(parameter.low, parameter.high, log=log, step=None if log else parameter.step)
        if isinstance(parameter, Int):
            return IntDistribution(parameter.low, parameter.high, log=parameter.scale == "log")
        return CategoricalDistribution(list(parameter.levels or ()))

    return {name: distribution(parameter) for name, parameter in parameters.items()}


_BAYESMARK_KEYS = {
    "real": {"space", "range", "values"},
    "int": {"space", "range", "values"},
    "bool": set[str](),
    "cat": {"values"},
    "ordinal": {"values"},
}


def from_api_config(api_config: Mapping[str, Mapping[str, Any]]) -> dict[str, Parameter]:
    """The parameters of an api_config, Bayesmark's description of a space.

    Numbers given by `values` become an Ordinal of the sorted values.
    """
    return _all_named(_from_bayesmark, api_config)


def _from_bayesmark(name: str, config: Mapping[str, Any]) -> Parameter:
    if not isinstance(config, Mapping):
        raise ValueError(f'Parameter "{name}": its api_config must be a mapping, got {config!r}.')
    given = {key: value for key, value in config.items() if value is not None}
    kind = given.pop("type", None)
    if kind not in _BAYESMARK_KEYS:
        raise ValueError(f'Parameter "{name}": unknown type {kind!r}, Bayesmark has {", ".join(_BAYESMARK_KEYS)}.')
    for key in given:
        if key not in _BAYESMARK_KEYS[kind]:
            raise ValueError(f'Parameter "{name}": the type {kind} does not take the key "{key}".')
    if kind == "bool":
        return Bool()
    if kind in ("real", "int"):
        return _bayesmark_number(name, kind, given)
    if "values" not in given:
        raise ValueError(f'Parameter "{name}": the type {kind} needs "values".')
    return Categorical(given["values"]) if kind == "cat" else Ordinal(given["values"])


def _bayesmark_number(name: str, kind: str, given: Mapping[str, Any]) -> Parameter:
    if ("values" in given) == ("range" in given):
        raise ValueError(f'Parameter "{name}": the type {kind} takes either "range" or "values".')
    key = "values" if "values" in given else "range"
    try:
        numbers = [_bayesmark_cast(kind, value) for value in given[key]]
    except (TypeError, ValueError) as error:
        raise ValueError(f'Parameter "{name}": "{key}" must be a list of numbers, got {given[key]!r}.') from error
    if key == "values":
        return Ordinal(sorted(numbers))
    if len(numbers) != 2:
        raise ValueError(f'Parameter "{name}": "range" must be (low, high), got {given["range"]!r}.')
    low, high = numbers
    scale = given.get("space", "linear")
    return Float(low, high, scale) if kind == "real" else Int(low, high, scale)


def _bayesmark_cast(kind: str, value: Any) -> Any:
    """A number in the type that Bayesmark means: 10.0 is an integer there; 10.5 stays a float, which Int refuses."""
    number = float(value)
    return int(value) if kind == "int" and number.is_integer() else number
