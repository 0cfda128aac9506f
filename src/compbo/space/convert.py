"""Parameters from other notations: tables (JSON, TOML), Optuna distributions, Bayesmark's api_config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from compbo.space.parameters import Bool, Categorical, Constant, Ordinal, Parameter, Scalar, plain
from compbo.space.ranges import Float, Int

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

KINDS: dict[str, type[Parameter]] = {cls.kind: cls for cls in (Float, Int, Bool, Categorical, Ordinal, Constant)}

# A distribution with a step becomes a list of values; a longer list than this is refused.
_MOST_STEPS = 100_000


def from_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from one table each, {"type": "float", "low": ...}; a plain value instead of a table is a constant."""
    if not isinstance(tables, Mapping):
        raise ValueError(f"A space must be a table of parameters, got {type(tables).__name__}.")
    return {
        name: _from_table(name, table) if isinstance(table, Mapping) else _constant(name, table)
        for name, table in tables.items()
    }


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
    """Optuna's distributions as parameters; a step becomes an Ordinal of its values, {False, True} a Bool."""
    return {name: _from_distribution(name, distribution) for name, distribution in distributions.items()}


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
        if distribution.step is None:
            return Float(distribution.low, distribution.high, scale)
        return Ordinal([float(value) for value in _steps(name, distribution)])
    if distribution.step == 1:
        return Int(distribution.low, distribution.high, scale)
    return Ordinal([int(value) for value in _steps(name, distribution)])


def _steps(name: str, distribution: FloatDistribution | IntDistribution) -> list[Decimal]:
    """low, low + step, ... up to high, in decimals so that 3 x 0.1 is 0.3."""
    low, high, step = (Decimal(str(end)) for end in (distribution.low, distribution.high, distribution.step))
    if not (low.is_finite() and high.is_finite()):
        raise ValueError(f'Parameter "{name}": low and high must be finite, got {low} and {high}.')
    count = int((high - low) // step) + 1
    if count > _MOST_STEPS:
        raise ValueError(f'Parameter "{name}": step {step} makes {count} values; leave it out or take a larger one.')
    return [low + k * step for k in range(count)]


def on_its_step(value: Any, distribution: BaseDistribution) -> Any:
    """The value on the step of an Optuna distribution: 0.30000000000000004 becomes 0.3 if the step is 0.1.

    Optuna's samplers add steps up, a space lists them.
    """
    from optuna.distributions import FloatDistribution

    if not isinstance(distribution, FloatDistribution) or distribution.step is None or isinstance(value, bool):
        return value
    steps = round((float(value) - distribution.low) / distribution.step)
    return float(Decimal(str(distribution.low)) + steps * Decimal(str(distribution.step)))


def to_optuna(parameters: Mapping[str, Parameter]) -> dict[str, BaseDistribution]:
    """Distributions that accept every valid point of the parameters.

    The scales logit and bilog, which Optuna does not have, become linear.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def distribution(parameter: Parameter) -> BaseDistribution:
        if isinstance(parameter, Float):
            return FloatDistribution(parameter.low, parameter.high, log=parameter.scale == "log")
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
    return {name: _from_bayesmark(name, config) for name, config in api_config.items()}


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
