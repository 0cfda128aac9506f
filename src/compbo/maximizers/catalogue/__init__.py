"""The catalogue: the 31 names of the paper and a few from after it, one file per family.

`CATALOGUE` is a plain dict from names to rows. Tests, tables, the command line and the study read it, so a new row is
tested, listed and tunable without another line (docs/add_a_maximizer.md).

>>> import compbo
>>> compbo.CATALOGUE["CAdam-ME"].defaults["lr"]
0.03

Defaults, until they are tuned: those of CAdam and NASA were set beforehand, the others chosen by
`benchmarks/choose_defaults.py`, which climbs UCB on Gaussian processes of three sizes and prints what each setting
reaches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compbo.maximizers.catalogue import compositional, first_order, later, second_order, zero_order
from compbo.maximizers.entry import Entry, Maximizer
from compbo.words import meant_or_known

CATALOGUE: dict[str, Entry] = {}


def register(entry: Entry) -> Entry:
    """Add a row to the catalogue, so that `maximizer=` knows its name.

    The row is known in this process: a program that starts others has to register it there as well, best in a module
    that they all import.

    Args:
        entry: the row; a ValueError if it is not an `Entry` or its name is taken.

    Returns:
        The same row.

    >>> import compbo
    >>> from dataclasses import replace
    >>> row = compbo.register(replace(compbo.CATALOGUE["RS"], name="RS-again"))
    >>> compbo.make_maximizer("RS-again").name
    'RS-again'
    >>> del compbo.CATALOGUE["RS-again"]
    """
    if not isinstance(entry, Entry):
        raise ValueError(f"register: a compbo.maximizers.Entry is wanted, got {entry!r}.")
    if entry.name in CATALOGUE:
        raise ValueError(f"register: there is a maximizer called {entry.name!r} already; choose another name.")
    CATALOGUE[entry.name] = entry
    return entry


for _family in (zero_order, first_order, second_order, compositional, later):
    for _entry in _family.ENTRIES:
        register(_entry)


def get_entry(name: str) -> Entry:
    """The row of that name; a KeyError that lists the names that resemble it if there is none."""
    try:
        return CATALOGUE[name]
    except (KeyError, TypeError):
        raise KeyError(f"no maximizer is called {name!r}; {meant_or_known(name, CATALOGUE)}") from None


def make_maximizer(maximizer: str | Entry | Maximizer, /, **hyperparameters: Any) -> Maximizer:
    """A maximizer as a value.

    Args:
        maximizer: a name of the catalogue, an entry, or a maximizer that is to get other hyperparameters.
        hyperparameters: by name; the others keep their defaults, or the values of the given maximizer.

    Returns:
        A `Maximizer`, which `maximizer=` takes in place of a name.

    >>> make_maximizer("CAdam-ME", lr=0.05).hyperparameters["lr"]
    0.05
    """
    if isinstance(maximizer, Maximizer):
        return replace(maximizer, hyperparameters={**maximizer.hyperparameters, **hyperparameters})
    return Maximizer(maximizer if isinstance(maximizer, Entry) else get_entry(maximizer), hyperparameters)
