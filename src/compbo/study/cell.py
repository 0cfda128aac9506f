"""A cell of the study: one run of one method on one task, as frozen data with a stable hash.

Everything that determines the numbers is in the cell, with every default written out, so that the hash changes when a
default does. What does not determine them (threads, limits, machine) is recorded with the result instead.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from compbo.acquisition.integrands import acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.maximizers import get_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.acquisition.integrands import Acquisition

FORMAT = 1  # of the cell; to be raised when the same cell would mean another computation
HASH_LENGTH = 32  # hexadecimal digits
LARGEST = 2**63 - 1  # what a column of whole numbers holds

Scalar = float | int | bool | str
Options = tuple[tuple[str, Scalar], ...]  # sorted pairs: a mapping that can be hashed


class OtherVersionError(ValueError):
    """Something whole of a version of compbo that this one cannot read: not to be taken for damaged."""


def options(mapping: Mapping[str, Any]) -> Options:
    """A mapping as sorted pairs."""
    return tuple(sorted(mapping.items()))


def check_whole(what: str, value: object, least: int) -> None:
    """ValueError unless the value is a whole number that is large enough, and can be stored."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what} must be a whole number >= {least}, got {value!r}.")
    if value > LARGEST:
        raise ValueError(f"{what} must be a whole number below 2^63, got {value}.")


@dataclass(frozen=True)
class MethodSpec:
    """What suggests the points: a kind of `methods.KINDS` and its settings.

    Of the kind `maximizer`: a catalogue entry with all its hyperparameters and an acquisition function with all its
    parameters; other kinds have neither.
    """

    kind: str
    acquisition: str = ""
    acquisition_options: Options = ()
    maximizer: str = ""
    hyperparameters: Options = ()

    @property
    def optimiser(self) -> str:
        """The name on the optimiser axis: that of the maximizer, or of the kind."""
        return self.maximizer or self.kind

    def make_acquisition(self) -> Acquisition:
        """The acquisition function."""
        return acquisition_from_dict({"name": self.acquisition, **dict(self.acquisition_options)})


def _method_to_dict(method: MethodSpec) -> dict[str, Any]:
    pairs = {key: dict(getattr(method, key)) for key in ("acquisition_options", "hyperparameters")}
    return {**vars(method), **pairs}


def maximizer_method(maximizer: str, acquisition: str, hyperparameters: Mapping[str, Any] | None = None) -> MethodSpec:
    """A catalogue entry with an acquisition function; the defaults of both are written out."""
    settings = acquisition_to_dict(get_acquisition(acquisition))
    name = str(settings.pop("name"))
    numbers = get_entry(maximizer).settled(**(hyperparameters or {}))
    return MethodSpec("maximizer", name, options(settings), maximizer, options(numbers))


@dataclass(frozen=True)
class Surrogate:
    """How a Gaussian process is fitted. noise: fixed at 2e-4 (noiseless tasks), or learned."""

    kernel: str = "matern52"
    priors: str = "paper"
    noise: Literal["fixed", "learned"] = "fixed"


@dataclass(frozen=True)
class Inner:
    """What one maximisation of the acquisition function may spend, as in the paper unless said otherwise."""

    raw_batches: int = 1024
    restarts: int = 32
    around_incumbents: float = 0.0  # the paper's raw batches are uniform
    steps: int = 64
    minibatch: int = 128

    def __post_init__(self) -> None:
        """Refuse a maximisation of nothing."""
        for name in ("raw_batches", "restarts", "steps", "minibatch"):
            check_whole(f"inner: {name}", getattr(self, name), 1)
        if self.restarts > self.raw_batches:
            raise ValueError(f"inner: {self.restarts} restarts cannot be chosen among {self.raw_batches} raw_batches.")
        if not isinstance(self.around_incumbents, float) or not 0.0 <= self.around_incumbents <= 1.0:
            raise ValueError(f"inner: around_incumbents must be a share such as 0.5, got {self.around_incumbents!r}.")


@dataclass(frozen=True)
class Cell:
    """One experiment: q points at each of `steps` acquisition steps, after `initial` uniform points.

    surrogate and inner are None for methods that have no such thing.
    """

    task: str
    dimension: int
    method: MethodSpec
    seed: int
    batch: int
    steps: int
    initial: int
    surrogate: Surrogate | None = None
    inner: Inner | None = None

    def __post_init__(self) -> None:
        """Refuse experiments of nothing."""
        for name, least in (("dimension", 1), ("seed", 0), ("batch", 1), ("steps", 1), ("initial", 1)):
            check_whole(f"Cell: {name}", getattr(self, name), least)

    @property
    def name(self) -> str:
        """What a person calls it: task/acquisition/optimiser/seed."""
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
        """The inverse of `to_dict`."""
        if data.get("format") != FORMAT:
            raise OtherVersionError(f"Cell: format {data.get('format')!r} is not {FORMAT}, the one of this version.")
        method = dict(data["method"])
        for key in ("acquisition_options", "hyperparameters"):
            method[key] = options(method[key])
        plain = {field.name: data[field.name] for field in fields(cls)}
        surrogate = None if plain["surrogate"] is None else Surrogate(**plain["surrogate"])
        inner = None if plain["inner"] is None else Inner(**plain["inner"])
        return cls(**{**plain, "method": MethodSpec(**method), "surrogate": surrogate, "inner": inner})

    @cached_property
    def definition(self) -> str:
        """Canonical JSON: sorted keys, no blanks, floats in full."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def hash(self) -> str:
        """The name of the cell everywhere: the beginning of the SHA-256 of its definition."""
        return hashlib.sha256(self.definition.encode()).hexdigest()[:HASH_LENGTH]

    def with_hyperparameters(self, hyperparameters: Mapping[str, Any]) -> Cell:
        """The same experiment with other hyperparameters of its maximizer; those not named stay as they are."""
        numbers = get_entry(self.method.maximizer).settled(**{**dict(self.method.hyperparameters), **hyperparameters})
        return replace(self, method=replace(self.method, hyperparameters=options(numbers)))


def cell_from_json(text: str) -> Cell:
    """The cell of a definition."""
    return Cell.from_dict(json.loads(text))
