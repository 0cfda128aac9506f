"""Settings: everything but the space that determines a suggestion."""

from __future__ import annotations

import math
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
        at_least_one("batch_size", self.batch_size)
        at_least_one("minibatch", self.minibatch)
        if self.initial_points is not None:
            at_least_one("initial_points", self.initial_points)
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(f"direction must be 'minimize' or 'maximize', got {self.direction!r}.")
        if self.initial_design not in ("sobol", "uniform"):
            raise ValueError(f"initial_design must be 'sobol' or 'uniform', got {self.initial_design!r}.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number >= 0, got {self.seed!r}.")
        if self.noise is not None and not (math.isfinite(self.noise) and self.noise >= 0):
            raise ValueError(
                f"noise must be a standard deviation >= 0 in the units of the objective, got {self.noise}."
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


def at_least_one(name: str, value: object) -> None:
    """Refuse what is not a whole number >= 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {value!r}.")
