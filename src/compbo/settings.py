"""Settings: everything but the space that determines a suggestion."""

from __future__ import annotations

import math
import numbers
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from compbo.acquisition.integrands import acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.maximizers import make_maximizer
from compbo.propose import StartPolicy
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.priors import get_priors
from compbo.types import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.acquisition.integrands import Acquisition

Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True)
class Settings:
    """Everything but the space that determines a suggestion."""

    acquisition: str | Acquisition = "ucb"
    maximizer: str = "CAdam-ME"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    direction: Direction = "minimize"
    seed: int = 0
    kernel: str = "matern52"
    priors: str = "paper"
    noise: float | None = None
    initial_design: Literal["sobol", "uniform"] = "sobol"
    initial_points: int | None = None
    starts: StartPolicy = field(default_factory=StartPolicy)
    budget: Budget = field(default_factory=Budget)
    minibatch: int = 128

    def __post_init__(self) -> None:
        """Check every option where it is named."""
        object.__setattr__(self, "acquisition", get_acquisition(self.acquisition))
        object.__setattr__(self, "hyperparameters", dict(self.hyperparameters))
        try:
            make_maximizer(self.maximizer, **self.hyperparameters)
        except KeyError as error:
            raise ValueError(f"maximizer: {error.args[0]}") from error
        get_kernel(self.kernel)
        get_priors(self.priors, 1)
        for name, least in (("batch_size", 1), ("minibatch", 1), ("initial_points", 1), ("seed", 0)):
            value = getattr(self, name)
            if name != "initial_points" or value is not None:
                object.__setattr__(self, name, whole_number(name, value, least))
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(f"direction must be 'minimize' or 'maximize', got {self.direction!r}.")
        if self.initial_design not in ("sobol", "uniform"):
            raise ValueError(f"initial_design must be 'sobol' or 'uniform', got {self.initial_design!r}.")
        if self.noise is not None and not _is_deviation(self.noise):
            raise ValueError(
                f"noise must be a standard deviation >= 0 in the units of the objective, got {self.noise!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        acquisition = acquisition_to_dict(get_acquisition(self.acquisition))
        return {**plain, "acquisition": acquisition, "starts": asdict(self.starts), "budget": asdict(self.budget)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        """The inverse of `to_dict`."""
        acquisition = acquisition_from_dict(data["acquisition"])
        starts, budget = StartPolicy(**data["starts"]), Budget(**data["budget"])
        return cls(**{**data, "acquisition": acquisition, "starts": starts, "budget": budget})


def _is_deviation(value: object) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value) and float(value) >= 0


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """The value as a Python integer; refuse what is not a whole number from `least` on."""
    whole = not isinstance(value, bool) and isinstance(value, numbers.Integral)
    if whole and int(value) >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}.")
