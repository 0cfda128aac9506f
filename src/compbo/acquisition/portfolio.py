"""Several acquisition functions that take turns from ask to ask."""

from __future__ import annotations

from dataclasses import dataclass
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

    >>> Portfolio(("ucb", "sr")).at(3)
    SR()
    """

    members: tuple[Acquisition, ...] = (UCB(), SR())
    name: ClassVar[str] = "portfolio"

    def __post_init__(self) -> None:
        """Names become values."""
        if len(self.members) == 0:
            raise OptionError("acquisition", "{option} is an empty list; name at least one function.")
        object.__setattr__(self, "members", tuple(get_acquisition(member) for member in self.members))

    def at(self, turn: int) -> Acquisition:
        """The member whose turn it is; turns are counted from 0."""
        return self.members[turn % len(self.members)]


def get_portfolio(acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition]) -> Acquisition | Portfolio:
    """What `acquisition=` names: a function, "portfolio" (UCB and SR in turn), or a list whose members take turns."""
    if isinstance(acquisition, Portfolio):
        return acquisition
    if isinstance(acquisition, str) and acquisition.lower() == Portfolio.name:
        return Portfolio()
    if isinstance(acquisition, (list, tuple)):
        return Portfolio(tuple(acquisition))
    if isinstance(acquisition, str) and "," in acquisition:
        return Portfolio(tuple(get_acquisition(name.strip()) for name in acquisition.split(",")))
    return get_acquisition(acquisition)  # type: ignore[arg-type]


def portfolio_to_dict(acquisition: Acquisition | Portfolio) -> dict[str, Any]:
    """Name and parameters, for JSON."""
    if isinstance(acquisition, Portfolio):
        return {"name": acquisition.name, "members": [acquisition_to_dict(member) for member in acquisition.members]}
    return acquisition_to_dict(acquisition)


def portfolio_from_dict(data: Mapping[str, Any]) -> Acquisition | Portfolio:
    """The acquisition function or portfolio that `portfolio_to_dict` wrote as `data`."""
    if data.get("name") == Portfolio.name:
        return Portfolio(tuple(acquisition_from_dict(member) for member in data["members"]))
    return acquisition_from_dict(dict(data))
