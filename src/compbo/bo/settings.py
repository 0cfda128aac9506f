"""Settings: everything but the space and the history that determines a suggestion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from compbo.acquisition.portfolio import Portfolio, get_portfolio, portfolio_from_dict, portfolio_to_dict, spelled
from compbo.acquisition.registry import is_registered
from compbo.bo.starts import StartPolicy
from compbo.errors import OptionError
from compbo.inputs import real, whole_number
from compbo.maximizers import Maximizer, catalogue, make_maximizer
from compbo.maximizers.race import can_race
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.outputs import EARLIER_AUTO, check_outputs
from compbo.surrogate.priors import get_priors
from compbo.surrogate.warps import NONE, check_inputs
from compbo.types import Budget
from compbo.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.acquisition.integrands import Acquisition
    from compbo.bo.history import Direction

STARTS, BUDGET = StartPolicy(), Budget()  # the defaults; `Optimizer`, `minimize` and `maximize` show them as theirs


@dataclass(frozen=True)
class Settings:
    """Everything but the space and the history that determines a suggestion: the options of `Optimizer`.

    Names of an acquisition and of a maximizer become values: `Settings(maximizer="RS").maximizer` is a `Maximizer`.
    `priors="paper", outputs="none", acquisition="ucb"` is the method of the paper.

    Args:
        acquisition: a name (ei, pi, sr, ucb, logei), a value such as `UCB(beta=0.5)` or one of your own, a list of them
            that take turns from ask to ask, or "portfolio": UCB and SR in turn, with a larger beta for a single point
            among choices with nothing pending.
        maximizer: a name of the catalogue, a `Maximizer`, or a function with a `form` (docs/own_parts.md).
        hyperparameters: of the maximizer, where it is given by its name; the others keep their defaults.
        batch_size: points that are suggested together.
        direction: "minimize" or "maximize".
        seed: the source of everything random.
        kernel: of the Gaussian process, "matern52", "se", "linear" or "cosine".
        priors: of its hyperparameters, "shared-choices", "paper" or "dimension-scaled".
        outputs: increasing transform of the values before the fit: "yeo-johnson", "log", "log-fitted", "none", or
            "evidence": of Yeo-Johnson and the fitted logarithm, the one under which the model has the greater evidence.
            "auto" becomes "evidence".
        inputs: "warped" for an increasing map of every parameter in front of the kernel (Kumaraswamy's distribution),
            fitted with the model: it stretches where the objective changes fast. Choices are left out. "none" for none.
        noise: standard deviation of the values in the units of the objective, 0 for none; None to learn it.
        model_points: observations that the model rests on, where there are more: half of them nearest to the best ones,
            half at even ranks of the others' distances. Hyperparameters of more than 512 observations are fitted to 512
            of them and refined. None: all observations, and a fit to all, in time that grows with their cube.
        initial_design: "sobol" or "uniform".
        initial_points: before the first suggestion of a model; None: two per dimension, from 2 to 16, at least a batch.
        starts: raw batches and restarts of a maximisation.
        budget: steps, seconds and memory of a maximisation.
        minibatch: samples K of one step.

    >>> import compbo
    >>> settings = compbo.Settings(priors="paper", outputs="none", acquisition="ucb")
    >>> settings.acquisition, settings.maximizer.name
    (UCB(beta=2.0), 'CAdam')
    """

    acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition] = "portfolio"
    maximizer: str | Maximizer | Callable[..., Any] = "CAdam"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    direction: Direction = "minimize"
    seed: int = 0
    kernel: str = "matern52"
    priors: str = "shared-choices"
    outputs: str = "auto"
    inputs: str = "none"
    noise: float | None = None
    model_points: int | None = 1280
    initial_design: Literal["sobol", "uniform"] = "sobol"
    initial_points: int | None = None
    starts: StartPolicy = STARTS
    budget: Budget = BUDGET
    minibatch: int = 128
    # Options that what an earlier version stored does not name, with what it did.
    LATER: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "outputs": "none",
            "inputs": NONE,
            "model_points": None,
            "starts": {"race": False, "polish": False, "levels": False},
        }
    )

    def __post_init__(self) -> None:
        """Check every option where it is named."""
        object.__setattr__(self, "acquisition", get_portfolio(self.acquisition))
        maximizer = as_maximizer(self.maximizer, self.hyperparameters)
        object.__setattr__(self, "maximizer", maximizer)
        object.__setattr__(self, "hyperparameters", dict(maximizer.hyperparameters))
        get_kernel(self.kernel)
        get_priors(self.priors, 1)
        object.__setattr__(self, "outputs", check_outputs(self.outputs))
        check_inputs(self.inputs)
        for name, least in (("batch_size", 1), ("minibatch", 1), ("seed", 0)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        for name, least in (("initial_points", 1), ("model_points", 2)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.direction not in ("minimize", "maximize"):
            raise OptionError(
                "direction", "{option} must be 'minimize' or 'maximize', got {given!r}.", given=self.direction
            )
        if self.initial_design not in ("sobol", "uniform"):
            raise OptionError(
                "initial_design", "{option} must be 'sobol' or 'uniform', got {given!r}.", given=self.initial_design
            )
        if self.noise is not None:
            object.__setattr__(self, "noise", _deviation(self.noise))
        for name, kind in (("starts", StartPolicy), ("budget", Budget)):
            if not isinstance(getattr(self, name), kind):
                raise OptionError(
                    name,
                    "{option} must be a {kind}(...), got {given!r}.",
                    kind=kind.__name__,
                    given=getattr(self, name),
                )

        if self.starts.race and not can_race(maximizer):
            raise OptionError(
                "starts",
                "{option}: {name} is no gradient ascent, so its restarts cannot race; leave race=True out.",
                name=maximizer.name,
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the maximizer with all its hyperparameters."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "hyperparameters"}
        name = as_maximizer(self.maximizer).name
        return {
            **plain,
            "acquisition": portfolio_to_dict(get_portfolio(self.acquisition)),
            "maximizer": {"name": name, "hyperparameters": dict(self.hyperparameters)},
            "starts": asdict(self.starts),
            "budget": asdict(self.budget),
        }

    def check_saveable(self) -> None:
        """OptionError if the acquisition or the maximizer is not registered: its name would not lead to it again."""
        maximizer, acquisition = as_maximizer(self.maximizer), get_portfolio(self.acquisition)
        members = (*acquisition.members, *acquisition.alone) if isinstance(acquisition, Portfolio) else (acquisition,)
        unknown = [("acquisition", type(member).__name__) for member in members if not is_registered(member)]
        unknown += [] if catalogue.is_registered(maximizer) else [("maximizer", maximizer.name)]
        for option, name in unknown:
            raise OptionError(
                option,
                "{option}: {name} is not registered, so that a saved run could not find it again; "
                "call compbo.register with it first.",
                name=name,
            )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        """The settings that `to_dict` wrote as `data`, in this version or in an earlier one."""
        complete = cls.as_now(data)
        values = {
            "acquisition": portfolio_from_dict(complete["acquisition"]),
            "maximizer": as_maximizer(**complete["maximizer"]),
            "starts": StartPolicy(**complete["starts"]),
            "budget": Budget(**complete["budget"]),
        }
        return cls(**{**complete, **values})

    @classmethod
    def as_now(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """What `to_dict` wrote as `data`, in this version or in an earlier one, with all options of this one.

        Those that came later are at what was done before there were any. "auto" is not stored any more: where it is, it
        stands for the transform that it was then.
        """
        nested = {name: {**old, **data.get(name, {})} for name, old in cls.LATER.items() if isinstance(old, Mapping)}
        outputs = {"outputs": EARLIER_AUTO} if data.get("outputs") == "auto" else {}
        return {**cls.LATER, **data, **nested, **outputs}

    @staticmethod
    def as_given(data: Mapping[str, Any]) -> dict[str, Any]:
        """What `to_dict` wrote as `data`, with a portfolio as one would give it, if that says what it is."""
        if data["acquisition"]["name"] != Portfolio.name:
            return dict(data)
        words = spelled(portfolio_from_dict(data["acquisition"]))
        return {**data, "acquisition": {"name": words}}


def refuse_unknown(caller: str, unknown: Iterable[str], known: Iterable[str]) -> None:
    """OptionError, in the name of the caller, for the first of the unknown options; it names the known ones."""
    for name in unknown:
        names = sorted(known)
        raise OptionError(
            name,
            "{caller}: {name!r} is not an option; {hint} {known}.",
            caller=caller,
            name=name,
            hint=f"{near} There are" if (near := did_you_mean(name, names)) else "there are",
            known=", ".join(names),
        )


def as_maximizer(
    name: str | Maximizer | Callable[..., Any], hyperparameters: Mapping[str, Any] = MappingProxyType({})
) -> Maximizer:
    """The maximizer of that name with these hyperparameters, the others at their defaults; a value as it is."""
    if not isinstance(hyperparameters, Mapping):
        raise OptionError(
            "hyperparameters", "{option} must be a mapping of names to numbers, got {given!r}.", given=hyperparameters
        )
    given = {str(key): value for key, value in hyperparameters.items()}
    if isinstance(name, Maximizer):
        if given and given != dict(name.hyperparameters):
            raise OptionError(
                "hyperparameters",
                "{option}: this {name} has its own; leave them out, or give its name.",
                name=name.name,
            )
        return name
    try:
        return make_maximizer(name, **given)
    except KeyError as error:
        raise OptionError("maximizer", "{option}: {reason}", reason=error.args[0]) from error


def _deviation(noise: Any) -> float:
    if not 0 <= real(noise) < math.inf:
        raise OptionError(
            "noise",
            "{option} must be a standard deviation >= 0 in the units of the objective, got {given!r}.",
            given=noise,
        )
    return real(noise)
