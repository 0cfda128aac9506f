"""The names in a grid: groups, families and patterns become the names of optimisers and tasks."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from compbo.plugins import HOW_TO_ADD
from compbo.study.methods.registry import GROUPS, optimiser_group, optimiser_names
from compbo.study.tasks import FAMILIES, get_task, list_tasks
from compbo.words import meant_or_known

if TYPE_CHECKING:
    from collections.abc import Iterable


def expand_optimisers(names: Iterable[str]) -> tuple[str, ...]:
    """The optimisers that are meant.

    Args:
        names: groups (paper, extended, own, baseline, peer), patterns and names.

    Returns:
        The names of the optimisers, none twice, in the catalogue's order; ValueError for a name that fits none.

    >>> expand_optimisers(["CAdam*", "bohb"])
    ('CAdam', 'CAdam-ME', 'bohb')
    """
    known = optimiser_names()
    chosen: set[str] = set()
    for name in names:
        found = [k for k in known if optimiser_group(k) == name] if name in GROUPS else matching(name, known)
        if not found:
            raise ValueError(f"no optimiser {name!r}; {meant_or_known(name, [*GROUPS, *known])} {HOW_TO_ADD}")
        chosen.update(found)
    return tuple(name for name in known if name in chosen)


def expand_tasks(specs: Iterable[str]) -> tuple[str, ...]:
    """The tasks that are meant.

    Args:
        specs: families (synthetic, shifted, tuning, own), patterns over the listed tasks, and specs.

    Returns:
        The specs of the tasks, none twice; ValueError for one that fits none.

    >>> expand_tasks(["levy-4", "knn-boston-*"])
    ('levy-4', 'knn-boston-mae', 'knn-boston-mse')
    """
    listed = list_tasks()
    chosen: list[str] = []
    for spec in specs:
        if spec in FAMILIES:
            chosen += list_tasks(spec)
        elif any(mark in spec for mark in "*?["):
            found = matching(spec, listed)
            if not found:
                raise ValueError(f"no task matches {spec!r}; {meant_or_known(spec, listed)}")
            chosen += found
        else:
            get_task(spec)  # says what is wrong with it
            chosen.append(spec)
    return tuple(dict.fromkeys(chosen))


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that fit a pattern; upper and lower case are the same.

    Args:
        pattern: a name, or one with `*`, `?` or `[...]`.
        names: among which it is looked for.

    Returns:
        Those that fit, in order.

    >>> matching("levy-*", ["levy-16", "ackley-16"])
    ['levy-16']
    """
    return [name for name in names if fnmatch.fnmatchcase(name.lower(), pattern.lower())]
