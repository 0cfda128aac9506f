"""A cell of the study: one run of one method on one task, as frozen data with a stable hash.

Everything that determines the numbers is in the cell, and every default is written out: when a default changes, so does
the hash. Threads, limits and the machine are not part of a cell; they are recorded with its result.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from compbo.acquisition.registry import acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.errors import CompboError
from compbo.inputs import whole_number
from compbo.maximizers import get_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.acquisition.integrands import Acquisition

FORMAT = 1  # of the definition; to be raised when the same cell would mean another computation
HASH_LENGTH = 32  # hexadecimal digits
LARGEST = 2**63 - 1  # what a column of whole numbers holds
FIRST_TUNING_SEED = 10**9  # of cells that only judge hyperparameters; the seeds of a grid are smaller

Scalar = float | int | bool | str
Pairs = tuple[tuple[str, Scalar], ...]  # sorted: a mapping that can be hashed


class OtherVersionError(CompboError, ValueError):
    """Another version of compbo wrote this, and this one cannot read it: the data are not damaged.

    Args:
        template: the message, as for `compbo.errors.CompboError`.
        values: what the fields of the template stand for.
    """


def sorted_pairs(mapping: Mapping[str, Any]) -> Pairs:
    """A mapping as sorted pairs, which can be hashed.

    Args:
        mapping: from names to values.

    Returns:
        Its items, sorted by name.

    >>> sorted_pairs({"lr": 0.1, "beta": 0.5})
    (('beta', 0.5), ('lr', 0.1))
    """
    return tuple(sorted(mapping.items()))


def storable_whole(name: str, value: object, least: int) -> int:
    """A whole number that fits into a column of the results, as a Python integer.

    Args:
        name: what the number is, for the message of the ValueError.
        value: the number.
        least: the smallest number that is allowed.

    Returns:
        The number.

    >>> storable_whole("Cell: steps", 32, 1)
    32
    """
    number = whole_number(name, value, least)
    if number > LARGEST:
        raise ValueError(f"{name} must be a whole number below 2^63, got {number}.")
    return number


@dataclass(frozen=True)
class MethodSpec:
    """What suggests the points.

    Args:
        kind: a key of `methods.registry.KINDS`; only the kind `maximizer` has what follows.
        acquisition: the name of the acquisition function.
        acquisition_options: all its parameters.
        maximizer: the name of an entry of the catalogue.
        hyperparameters: all those of the entry.

    >>> MethodSpec("random-search").optimiser
    'random-search'
    """

    kind: str
    acquisition: str = ""
    acquisition_options: Pairs = ()
    maximizer: str = ""
    hyperparameters: Pairs = ()

    @property
    def optimiser(self) -> str:
        """The name on the axis of optimisers: that of the maximizer, or of the kind."""
        return self.maximizer or self.kind

    def make_acquisition(self) -> Acquisition:
        """The acquisition function with its parameters.

        >>> maximizer_method("CAdam", "ucb").make_acquisition()
        UCB(beta=2.0)
        """
        return acquisition_from_dict({"name": self.acquisition, **dict(self.acquisition_options)})


def _method_to_dict(method: MethodSpec) -> dict[str, Any]:
    pairs = {key: dict(getattr(method, key)) for key in ("acquisition_options", "hyperparameters")}
    return {**vars(method), **pairs}


def maximizer_method(maximizer: str, acquisition: str, hyperparameters: Mapping[str, Any] | None = None) -> MethodSpec:
    """The method that maximises an acquisition function by an entry of the catalogue.

    Args:
        maximizer: name of the entry.
        acquisition: name of the acquisition function; its parameters are the defaults.
        hyperparameters: of the entry; those that are not named have their defaults.

    Returns:
        The method, with every default written out.

    >>> method = maximizer_method("SCGA", "ei", {"lr": 0.5})
    >>> method.optimiser, method.acquisition, dict(method.hyperparameters)["lr"]
    ('SCGA', 'ei', 0.5)
    """
    settings = acquisition_to_dict(get_acquisition(acquisition))
    name = str(settings.pop("name"))
    numbers = get_entry(maximizer).settled(**(hyperparameters or {}))
    return MethodSpec("maximizer", name, sorted_pairs(settings), maximizer, sorted_pairs(numbers))


@dataclass(frozen=True)
class SurrogateSpec:
    """How a Gaussian process is fitted.

    Args:
        kernel: its name, "matern52", "se", "linear" or "cosine".
        priors: of its hyperparameters, "paper" or "dimension-scaled".
        outputs: transform of the values before the fit; the paper has none.
        noise: "fixed" for tasks without noise, or "learned".

    >>> SurrogateSpec(noise="learned").arguments()
    {'kernel': 'matern52', 'priors': 'paper', 'outputs': 'none', 'noise': None}
    """

    kernel: str = "matern52"
    priors: str = "paper"
    outputs: str = "none"
    noise: Literal["fixed", "learned"] = "fixed"

    def arguments(self) -> dict[str, Any]:
        """The same as keyword arguments of `compbo.Optimizer` and of the baselines."""
        noise = 0.0 if self.noise == "fixed" else None
        return {"kernel": self.kernel, "priors": self.priors, "outputs": self.outputs, "noise": noise}


@dataclass(frozen=True)
class InnerSpec:
    """What one maximisation of the acquisition function may spend; the defaults are the paper's.

    Args:
        raw_batches: batches among which the start points are chosen.
        restarts: B, start points.
        around_incumbents: the share of the raw batches near the best points; the paper's are all uniform.
        steps: T, steps of the maximizer.
        minibatch: K, samples per step.

    >>> InnerSpec(restarts=8).steps
    64
    """

    raw_batches: int = 1024
    restarts: int = 32
    around_incumbents: float = 0.0
    steps: int = 64
    minibatch: int = 128

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be maximised."""
        for name in ("raw_batches", "restarts", "steps", "minibatch"):
            object.__setattr__(self, name, storable_whole(f"inner: {name}", getattr(self, name), 1))
        if self.restarts > self.raw_batches:
            raise ValueError(f"inner: {self.restarts} restarts cannot be chosen among {self.raw_batches} raw_batches.")
        if not isinstance(self.around_incumbents, float) or not 0.0 <= self.around_incumbents <= 1.0:
            raise ValueError(f"inner: around_incumbents must be a share such as 0.5, got {self.around_incumbents!r}.")


@dataclass(frozen=True)
class Cell:
    """One experiment: q points at each of `steps` acquisition steps, after `initial` uniform points.

    Args:
        task: the spec of the black box.
        dimension: d, of its unit cube.
        method: what suggests the points.
        seed: of everything random; from `FIRST_TUNING_SEED` on, the cell only judges hyperparameters.
        batch: q, points per acquisition step.
        steps: acquisition steps.
        initial: points of the initial design.
        surrogate: how the model is fitted; None for methods without one.
        inner: what a maximisation may spend; None for methods without one.

    >>> cell = Cell("levy-16", 16, MethodSpec("random-search"), seed=0, batch=16, steps=32, initial=3)
    >>> cell.name, len(cell.hash)
    ('levy-16/random-search/seed0', 32)
    """

    task: str
    dimension: int
    method: MethodSpec
    seed: int
    batch: int
    steps: int
    initial: int
    surrogate: SurrogateSpec | None = None
    inner: InnerSpec | None = None

    def __post_init__(self) -> None:
        """Refuse numbers with which there is nothing to run."""
        for name, least in (("dimension", 1), ("seed", 0), ("batch", 1), ("steps", 1), ("initial", 1)):
            object.__setattr__(self, name, storable_whole(f"Cell: {name}", getattr(self, name), least))

    @property
    def name(self) -> str:
        """A name for people: task/acquisition/optimiser/seed."""
        parts = [self.task, self.method.acquisition, self.method.optimiser, f"seed{self.seed}"]
        return "/".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the version of the format."""
        return {
            "format": FORMAT,
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "method": _method_to_dict(self.method),
            "surrogate": None if self.surrogate is None else vars(self.surrogate),
            "inner": None if self.inner is None else vars(self.inner),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cell:
        """The inverse of `to_dict`; `OtherVersionError` if another version of compbo wrote the data."""
        if data.get("format") != FORMAT:
            raise OtherVersionError(
                "Cell: format {given!r} is not {ours}, the one of this version.", given=data.get("format"), ours=FORMAT
            )
        method = dict(data["method"])
        for key in ("acquisition_options", "hyperparameters"):
            method[key] = sorted_pairs(method[key])
        plain = {field.name: data[field.name] for field in fields(cls)}
        surrogate = None if plain["surrogate"] is None else SurrogateSpec(**plain["surrogate"])
        inner = None if plain["inner"] is None else InnerSpec(**plain["inner"])
        return cls(**{**plain, "method": MethodSpec(**method), "surrogate": surrogate, "inner": inner})

    @cached_property
    def definition(self) -> str:
        """Canonical JSON: sorted keys, no blanks, floats in full."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def hash(self) -> str:
        """The name of the cell in files and tables: the first 32 digits of the SHA-256 of its definition."""
        return hashlib.sha256(self.definition.encode()).hexdigest()[:HASH_LENGTH]

    def with_hyperparameters(self, hyperparameters: Mapping[str, Any]) -> Cell:
        """The same experiment with other hyperparameters of its maximizer; those not named stay as they are."""
        numbers = get_entry(self.method.maximizer).settled(**{**dict(self.method.hyperparameters), **hyperparameters})
        return replace(self, method=replace(self.method, hyperparameters=sorted_pairs(numbers)))


def cell_from_json(text: str) -> Cell:
    """The cell of a definition.

    Args:
        text: canonical JSON, as `Cell.definition` gives it.

    Returns:
        The cell; ValueError, TypeError or KeyError if the text is not that of one.

    >>> cell = Cell("levy-2", 2, MethodSpec("bohb"), seed=0, batch=1, steps=1, initial=1)
    >>> cell_from_json(cell.definition) == cell
    True
    """
    return Cell.from_dict(json.loads(text))
