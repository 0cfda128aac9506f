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
from typing import TYPE_CHECKING, Any

from compbo.maximizers.catalogue import compositional, first_order, later, second_order, zero_order
from compbo.maximizers.entry import Entry, Maximizer
from compbo.maximizers.function import function_entry
from compbo.plugins import HOW_TO_ADD, load_installed
from compbo.words import meant_or_known

if TYPE_CHECKING:
    from collections.abc import Callable

CATALOGUE: dict[str, Entry] = {}


def register(maximizer: Entry | Callable[..., Any]) -> Entry:
    """Add a row to the catalogue, so that `maximizer=` knows its name.

    The row is known in this process: a program that starts others names the module as a plugin (docs/own_parts.md).

    Args:
        maximizer: the row, or a function with a `form`, made into one by `compbo.maximizers.function_entry`; a
            ValueError if it is neither, or if its name is taken by another.

    Returns:
        The row.

    >>> import compbo
    >>> from dataclasses import replace
    >>> row = compbo.register(replace(compbo.CATALOGUE["RS"], name="RS-again"))
    >>> compbo.make_maximizer("RS-again").name
    'RS-again'
    >>> del compbo.CATALOGUE["RS-again"]
    """
    if not isinstance(maximizer, Entry) and (isinstance(maximizer, type | Maximizer) or not callable(maximizer)):
        raise ValueError(f"register: a compbo.maximizers.Entry or a function with a form is wanted, got {maximizer!r}.")
    entry = maximizer if isinstance(maximizer, Entry) else function_entry(maximizer)
    if CATALOGUE.get(entry.name, entry) != entry:
        raise ValueError(f"register: there is a maximizer called {entry.name!r} already; choose another name.")
    CATALOGUE[entry.name] = entry
    return entry


for _family in (zero_order, first_order, second_order, compositional, later):
    for _entry in _family.ENTRIES:
        register(_entry)
BUILT_IN = frozenset(CATALOGUE)  # the rows of the package; all others are the user's


def get_entry(name: str) -> Entry:
    """The row of that name, also of an installed plugin; a KeyError that lists the names that resemble it otherwise."""
    if isinstance(name, str) and name not in CATALOGUE:
        load_installed()
    try:
        return CATALOGUE[name]
    except (KeyError, TypeError):
        hint = meant_or_known(name, CATALOGUE)
        raise KeyError(f"no maximizer is called {name!r}; {hint} {HOW_TO_ADD}") from None


def make_maximizer(maximizer: str | Entry | Maximizer | Callable[..., Any], /, **hyperparameters: Any) -> Maximizer:
    """A maximizer as a value.

    Args:
        maximizer: a name of the catalogue, an entry, a maximizer that is to get other hyperparameters, or a function
            with a `form`.
        hyperparameters: by name; the others keep their defaults, or the values of the given maximizer.

    Returns:
        A `Maximizer`, which `maximizer=` takes in place of a name.

    >>> make_maximizer("CAdam-ME", lr=0.05).hyperparameters["lr"]
    0.05
    """
    if isinstance(maximizer, Maximizer):
        return replace(maximizer, hyperparameters={**maximizer.hyperparameters, **hyperparameters})
    if isinstance(maximizer, Entry):
        return Maximizer(maximizer, hyperparameters)
    if callable(maximizer) and not isinstance(maximizer, type):
        return Maximizer(function_entry(maximizer), hyperparameters)
    return Maximizer(get_entry(maximizer), hyperparameters)  # type: ignore[arg-type]  # any other type: a KeyError


def is_registered(maximizer: Maximizer) -> bool:
    """Whether its name stands for it, so that it can be saved by name."""
    return CATALOGUE.get(maximizer.name) == maximizer.entry
