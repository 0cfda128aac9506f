"""Settings: everything but the space that determines a suggestion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from compbo.acquisition.integrands import acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.checks import real, whole_number
from compbo.maximizers import make_maximizer
from compbo.propose import StartPolicy
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.priors import get_priors
from compbo.types import Budget

if TYPE_CHECKING:
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
        object.__setattr__(self, "hyperparameters", _hyperparameters(self.maximizer, self.hyperparameters))
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
        if self.noise is not None:
            object.__setattr__(self, "noise", _deviation(self.noise))
        for name, kind in (("starts", StartPolicy), ("budget", Budget)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be a {kind.__name__}(...), got {getattr(self, name)!r}.")

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


def _hyperparameters(maximizer: Any, given: Any) -> dict[str, Any]:
    """The given hyperparameters as plain numbers, checked by the maximizer that they are for."""
    if not isinstance(given, Mapping):
        raise ValueError(f"hyperparameters must be a mapping of names to numbers, got {given!r}.")
    try:
        made = make_maximizer(maximizer, **{str(name): value for name, value in given.items()})
    except KeyError as error:
        raise ValueError(f"maximizer: {error.args[0]}") from error
    return {name: made.hyperparameters[name] for name in map(str, given)}


def _deviation(noise: Any) -> float:
    if not 0 <= real(noise) < math.inf:
        raise ValueError(f"noise must be a standard deviation >= 0 in the units of the objective, got {noise!r}.")
    return real(noise)
