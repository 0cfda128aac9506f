"""Telemetry: what one suggestion looked like. The record of the report, of storages and of the study's rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from compbo.bo.verdict import Verdict


@dataclass(frozen=True)
class Telemetry:
    """What one ask looked like.

    Acquisition values are those on the common sample; tuples have one entry per restart. A field is NaN, 0 or empty
    where it does not apply: the initial design maximises nothing. The fields have a comment each.

    >>> import compbo
    >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)}, seed=0)
    >>> points = optimizer.ask()
    >>> optimizer.telemetry[-1].verdict.value, optimizer.telemetry[-1].points
    ('initial design', 1)
    """

    verdict: Verdict  # whether the acquisition function was maximised
    reason: str  # the verdict in words
    observations: int = 0  # evaluations known, failed ones included
    modelled: int = 0  # of them, that the model rests on
    model: str = ""  # what it was made of: "exact", or a part of the observations, and refined hyperparameters
    pending: int = 0  # points asked for and not told
    points: int = 0  # suggested
    first_number: int = -1  # of the trial of the first of them; the others follow
    acquisition_value: float = math.nan  # of the chosen batch
    acquisition_gain: float = math.nan  # over the best start batch
    acquisition_error: float = math.nan  # Monte-Carlo standard error of the value, from independent scrambles
    spread: float = math.nan  # standard deviation of the restarts' end values
    start_values: tuple[float, ...] = ()  # before the ascent
    end_values: tuple[float, ...] = ()  # the best of each restart
    gradient_norms: tuple[float, ...] = ()  # at the last step
    statuses: tuple[str, ...] = ()  # how each restart ended: see `compbo.types.Status`
    winner: int = -1  # restart the batch came from; -1: a start batch
    ascent_steps: int = 0  # that were made
    jitter: float = 0.0  # largest relative one that a Cholesky factor needed
    fit_seconds: float = 0.0  # fit of the model
    start_seconds: float = 0.0  # raw batches and the choice of start points, or the initial design
    maximise_seconds: float = 0.0  # ascent, choice of the batch and verdict
    maximizer: str = ""  # its name
    acquisition: str = ""  # its name; of a portfolio, the member whose turn it was
    backend: str = ""  # what computed the acquisition function while it was climbed: see `compbo.backend`
    inputs: str = ""  # warp of the parameters that was fitted with the model, with its shapes
    outputs: str = ""  # transform of the values that the model was fitted to, with its shape
    replaced: int = 0  # points that repeated an earlier one

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "verdict": str(self.verdict)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Telemetry:
        """The inverse of `to_dict`; ValueError for a record with other fields."""
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"Telemetry of another version of compbo cannot be read: it has {', '.join(unknown)}.")
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**{**plain, "verdict": Verdict(data["verdict"])})
