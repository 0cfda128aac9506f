"""Several acquisition functions that take turns from ask to ask."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from compbo.acquisition.integrands import SR, UCB, Acquisition
from compbo.acquisition.registry import acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Portfolio:
    """Several acquisition functions; every ask maximises the next one of them.

    UCB explores; SR takes what the model promises now. The turn is the number of batches that are known, so a
    suggestion stays a function of the history.

    Args:
        members: the acquisition functions in their order, by name or as values.
        alone: those in their place where one point is asked for in a space with choices or switches, and none is
            pending; empty for the members. `acquisition="portfolio"` has UCB(beta=4) and SR here.

    >>> Portfolio(("ucb", "sr")).at(3)
    SR()
    """

    members: tuple[Acquisition, ...] = (UCB(), SR())
    alone: tuple[Acquisition, ...] = ()
    name: ClassVar[str] = "portfolio"

    def __post_init__(self) -> None:
        """Names become values."""
        for name in ("members", "alone"):
            given = getattr(self, name)
            if not isinstance(given, (list, tuple)):
                raise OptionError(
                    "acquisition",
                    "{option}: {name} of a Portfolio is a list of acquisition functions, got {given!r}.",
                    name=name,
                    given=given,
                )
            object.__setattr__(self, name, tuple(get_acquisition(member) for member in given))
        if len(self.members) == 0:
            raise OptionError("acquisition", "{option} is an empty list; name at least one function.")

    def among(self, *, single: bool) -> tuple[Acquisition, ...]:
        """Those that take turns. single: one point among choices, none pending."""
        return self.alone if single and self.alone else self.members

    def at(self, turn: int, *, single: bool = False) -> Acquisition:
        """The one whose turn it is; turns are counted from 0. single: as for `among`."""
        taking_turns = self.among(single=single)
        return taking_turns[turn % len(taking_turns)]


# The maximum over a batch makes joint UCB explore the farther, the more points there are. A single point with the same
# beta stays at the choice that looks best, once its numbers are known, and spends all that is left there.
DEFAULT = Portfolio(alone=(UCB(beta=4.0), SR()))


def get_portfolio(acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition]) -> Acquisition | Portfolio:
    """What `acquisition=` names: a function, "portfolio" (`DEFAULT`), or a list whose members take turns."""
    if isinstance(acquisition, Portfolio):
        return acquisition
    if isinstance(acquisition, str) and acquisition.lower() == Portfolio.name:
        return DEFAULT
    if isinstance(acquisition, (list, tuple)):
        return Portfolio(tuple(acquisition))
    if isinstance(acquisition, str) and "," in acquisition:
        return Portfolio(tuple(get_acquisition(name.strip()) for name in acquisition.split(",")))
    return get_acquisition(acquisition)  # type: ignore[arg-type]


def spelled(acquisition: Acquisition | Portfolio) -> str:
    """What to give as `acquisition=` for this one, as briefly as it can be said.

    >>> spelled(get_portfolio("portfolio")), spelled(get_portfolio(["ucb", "sr"])), spelled(UCB(beta=0.5))
    ('portfolio', 'ucb,sr', 'UCB(beta=0.5)')
    """
    if not isinstance(acquisition, Portfolio):
        value: Any = acquisition  # one of the user's may be no dataclass, or need arguments
        own = is_dataclass(value) and any(getattr(value, f.name) != f.default for f in fields(value))
        return repr(acquisition) if own else acquisition.name
    if acquisition == DEFAULT:
        return acquisition.name
    return repr(acquisition) if acquisition.alone else ",".join(spelled(member) for member in acquisition.members)


def portfolio_to_dict(acquisition: Acquisition | Portfolio) -> dict[str, Any]:
    """Name and parameters, for JSON."""
    if isinstance(acquisition, Portfolio):
        members, alone = (
            [acquisition_to_dict(one) for one in some] for some in (acquisition.members, acquisition.alone)
        )
        # Earlier versions know nothing of the second list, and the name of a cell rests on what is written.
        return {"name": acquisition.name, "members": members, **({"alone": alone} if alone else {})}
    return acquisition_to_dict(acquisition)


def portfolio_from_dict(data: Mapping[str, Any]) -> Acquisition | Portfolio:
    """The acquisition function or portfolio that `portfolio_to_dict` wrote as `data`."""
    if data.get("name") == Portfolio.name:
        lists = (data["members"], data.get("alone", ()))
        return Portfolio(*(tuple(acquisition_from_dict(member) for member in members) for members in lists))
    return acquisition_from_dict(dict(data))
