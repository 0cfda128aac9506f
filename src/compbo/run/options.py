"""The options of a run that determine its suggestions, as the keywords of `minimize` and `maximize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.portfolio import Portfolio
    from compbo.bo.starts import StartPolicy
    from compbo.maximizers import Maximizer
    from compbo.types import Budget


class SuggestionOptions(TypedDict, total=False):
    """The fields of `Settings` that `minimize` and `maximize` pass on as they are; a test keeps the two equal."""

    acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition]
    maximizer: str | Maximizer | Callable[..., Any]
    hyperparameters: Mapping[str, Any]
    kernel: str
    priors: str
    outputs: str
    noise: float | None
    initial_design: Literal["sobol", "uniform"]
    initial_points: int | None
    starts: StartPolicy
    budget: Budget
    minibatch: int
