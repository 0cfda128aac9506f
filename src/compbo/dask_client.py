"""A client of a Dask scheduler, with errors that say what to do; the run and the study connect through it."""

from __future__ import annotations

import re
from typing import Any

from compbo.errors import OptionError
from compbo.extras import load_optional


class NoSchedulerError(OSError):
    """No scheduler answers at an address."""


def check_address(address: str) -> str:
    """The address of a scheduler: Dask itself would try for minutes to reach a wrong one.

    Args:
        address: as the log of the scheduler names it.

    Returns:
        The same; OptionError if it is no address.

    >>> check_address("tcp://127.0.0.1:8786")
    'tcp://127.0.0.1:8786'
    """
    if re.fullmatch(r"(\w+://)?[^/\s]+:\d+", address) is None:
        raise OptionError(
            "dask",
            "{option:{address}}: give the scheduler as its log names it, for instance tcp://host:8786.",
            address=address,
        )
    return address


def connect(address: str, name: str) -> Any:
    """A `distributed.Client` of the scheduler at an address.

    Args:
        address: of the scheduler.
        name: of the client, as the scheduler's log and dashboard show it.

    Returns:
        The client; NoSchedulerError if no scheduler answers.
    """
    distributed = load_optional("distributed", "dask")
    try:
        return distributed.Client(address, set_as_default=False, name=name)
    except (OSError, TimeoutError, ValueError) as error:
        raise NoSchedulerError(
            f"No Dask scheduler answers at {address} ({type(error).__name__}); is it running?"
        ) from error
