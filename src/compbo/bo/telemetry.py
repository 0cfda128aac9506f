"""Telemetry: what one suggestion looked like. The record of the report, of storages and of the study's rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from compbo.bo.verdict import Verdict


@dataclass(frozen=True)
class Telemetry:
    """What one ask looked like.

    Acquisition values are those on the common sample; tuples have one entry per restart. What there was not (the
    initial design maximises nothing) is NaN, 0 or empty.
    """

    verdict: Verdict
    reason: str  # the verdict in words
    observations: int = 0  # evaluations known, failed ones included
    pending: int = 0
    points: int = 0  # suggested
    acquisition_value: float = math.nan  # of the chosen batch
    acquisition_gain: float = math.nan  # over the best start batch
    acquisition_error: float = math.nan  # Monte-Carlo standard error of the value, from independent scrambles
    spread: float = math.nan  # standard deviation of the restarts' end values
    start_values: tuple[float, ...] = ()
    end_values: tuple[float, ...] = ()
    gradient_norms: tuple[float, ...] = ()
    statuses: tuple[str, ...] = ()
    winner: int = -1  # restart the batch came from; -1: a start batch
    ascent_steps: int = 0
    jitter: float = 0.0  # largest relative one that a Cholesky factor needed
    fit_seconds: float = 0.0
    start_seconds: float = 0.0  # raw batches and the choice of start points, or the initial design
    maximise_seconds: float = 0.0
    maximizer: str = ""
    acquisition: str = ""
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
