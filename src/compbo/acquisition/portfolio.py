"""Several acquisition functions that take turns from ask to ask."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from compbo.acquisition.integrands import SR, UCB, Acquisition
from compbo.acquisition.registry import acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.errors import OptionError
from compbo.inputs import whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REACH = 8  # of the default: the size of the batches in which it was chosen
STEP, FARTHEST = 1e-3, 10.0  # of an integral over standard deviations


@dataclass(frozen=True)
class Portfolio:
    """Several acquisition functions; every ask maximises the next one of them.

    UCB explores; SR takes what the model promises now. The turn is the number of batches that are known, so a
    suggestion stays a function of the history.

    Args:
        members: the acquisition functions in their order, by name or as values.
        reach: in spaces with choices or switches, UCB explores with fewer points than this as far as with so many;
            0 for a beta that stays what it is.

    >>> Portfolio(("ucb", "sr")).at(3)
    SR()
    """

    members: tuple[Acquisition, ...] = (UCB(), SR())
    reach: int = 0
    name: ClassVar[str] = "portfolio"

    def __post_init__(self) -> None:
        """Names become values."""
        if len(self.members) == 0:
            raise OptionError("acquisition", "{option} is an empty list; name at least one function.")
        object.__setattr__(self, "members", tuple(get_acquisition(member) for member in self.members))
        object.__setattr__(self, "reach", whole_number("Portfolio: reach", self.reach, 0))

    def at(self, turn: int) -> Acquisition:
        """The member whose turn it is; turns are counted from 0."""
        return self.members[turn % len(self.members)]

    def among_choices(self, turn: int, points: int) -> Acquisition:
        """The member whose turn it is in a space with choices, where what looks best is left for other choices too.

        Args:
            turn: counted from 0.
            points: over which its maximum is taken: those asked for and those pending.

        Returns:
            UCB with a larger beta if there are fewer points than `reach`, everything else as it is.

        >>> Portfolio(("ucb", "sr"), reach=8).among_choices(2, points=8)
        UCB(beta=2.0)
        """
        member = self.at(turn)
        if not isinstance(member, UCB) or points >= self.reach:
            return member
        return replace(member, beta=member.beta * (largest_deviation(self.reach) / largest_deviation(points)) ** 2)


@cache
def largest_deviation(points: int) -> float:
    """E max_j |z_j| of so many independent standard normals: what joint UCB's maximum over noise makes of a deviation.

    The integral of P(max_j |z_j| > t) over t > 0, by the trapezoidal rule.

    >>> round(largest_deviation(1), 6) == round(math.sqrt(2 / math.pi), 6)
    True
    """
    tail = (1.0 - math.erf(STEP * k / math.sqrt(2.0)) ** points for k in range(1, round(FARTHEST / STEP)))
    return STEP * (0.5 + math.fsum(tail))


def get_portfolio(acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition]) -> Acquisition | Portfolio:
    """What `acquisition=` names: a function, "portfolio" (UCB and SR in turn), or a list whose members take turns."""
    if isinstance(acquisition, Portfolio):
        return acquisition
    if isinstance(acquisition, str) and acquisition.lower() == Portfolio.name:
        return Portfolio(reach=REACH)
    if isinstance(acquisition, (list, tuple)):
        return Portfolio(tuple(acquisition))
    if isinstance(acquisition, str) and "," in acquisition:
        return Portfolio(tuple(get_acquisition(name.strip()) for name in acquisition.split(",")))
    return get_acquisition(acquisition)  # type: ignore[arg-type]


def portfolio_to_dict(acquisition: Acquisition | Portfolio) -> dict[str, Any]:
    """Name and parameters, for JSON."""
    if isinstance(acquisition, Portfolio):
        members = [acquisition_to_dict(member) for member in acquisition.members]
        reach = {"reach": acquisition.reach} if acquisition.reach else {}  # not known to earlier versions
        return {"name": acquisition.name, "members": members, **reach}
    return acquisition_to_dict(acquisition)


def portfolio_from_dict(data: Mapping[str, Any]) -> Acquisition | Portfolio:
    """The acquisition function or portfolio that `portfolio_to_dict` wrote as `data`."""
    if data.get("name") == Portfolio.name:
        return Portfolio(tuple(acquisition_from_dict(member) for member in data["members"]), data.get("reach", 0))
    return acquisition_from_dict(dict(data))
