"""The kinds of methods, a row each. A new kind is a new row of `KINDS`; grids, tests and tables follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compbo.baselines.thompson import FLAVOURS
from compbo.maximizers import BUILT_IN, CATALOGUE
from compbo.study.methods import baselines, peers
from compbo.study.methods.defaults import VARIANTS, DefaultMethod, SequentialMethod, settings_of
from compbo.study.methods.maximizer import MaximizerMethod

if TYPE_CHECKING:
    from collections.abc import Callable

    from compbo.study.cell import Cell, Pairs
    from compbo.study.methods.method import Method
    from compbo.study.tasks import Task

MAXIMIZER = "maximizer"  # the kind of all methods of the catalogue
GROUPS = ("paper", "extended", "own", "default", "baseline", "peer")


@dataclass(frozen=True)
class MethodKind:
    """A kind of method.

    Args:
        make: makes the method of a cell and its task.
        surrogate: whether it uses the cell's surrogate.
        inner: whether it uses the cell's inner budget.
        group: under which it is named in a grid.
        modules: that a worker process loads before it forks.
        options: of the method, written into its cells.

    >>> KINDS["bohb"].group, KINDS["bohb"].surrogate
    ('baseline', False)
    """

    make: Callable[[Cell, Task], Method]
    surrogate: bool = False
    inner: bool = False
    group: str = "baseline"
    modules: tuple[str, ...] = ()
    options: Pairs = ()


_BOTORCH = ("botorch.acquisition.logei", "botorch.fit", "botorch.models", "botorch.optim")
KINDS: dict[str, MethodKind] = {
    MAXIMIZER: MethodKind(MaximizerMethod, surrogate=True, inner=True, group="compbo"),
    **{
        f"thompson-{flavour}": MethodKind(baselines.make_thompson(flavour), surrogate=True, inner=True)
        for flavour in FLAVOURS
    },
    **{name: MethodKind(DefaultMethod, group="default", options=settings_of(name)) for name in VARIANTS},
    "compbo-sequential": MethodKind(SequentialMethod, group="default", options=settings_of("compbo")),
    "bohb": MethodKind(baselines.make_bohb, modules=("statsmodels.nonparametric.api",)),
    "random-search": MethodKind(baselines.make_random_search),
    "botorch-qlogei": MethodKind(peers.BoTorchMethod, inner=True, group="peer", modules=_BOTORCH),
    "optuna-tpe": MethodKind(peers.OptunaTPE, group="peer", modules=("optuna",)),
    "optuna-gp": MethodKind(peers.OptunaGP, group="peer", modules=("optuna", "optuna._gp.acqf")),
    "pycma": MethodKind(peers.PycmaMethod, group="peer", modules=("cma",)),
}


def make_method(cell: Cell, task: Task) -> Method:
    """The method of a cell.

    Args:
        cell: the experiment.
        task: of the cell.

    Returns:
        The method, before its first tell; ValueError if the kind of method is not known.
    """
    kind = cell.method.kind
    if kind not in KINDS:
        raise ValueError(f"Cell {cell.name}: no kind of method {kind!r}; there are {', '.join(KINDS)}.")
    return KINDS[kind].make(cell, task)


def register_method(name: str, kind: MethodKind) -> None:
    """Make a kind of method of your own known by its name, in grids and cells, in the group `own`.

    Args:
        name: on the axis of optimisers; a ValueError if it is taken.
        kind: what makes the method.

    >>> register_method("my-search", MethodKind(baselines.make_random_search))
    >>> optimiser_group("my-search")
    'own'
    >>> del KINDS["my-search"]
    """
    own = replace(kind, group="own")
    if name in CATALOGUE or KINDS.get(name, own) != own:
        raise ValueError(f"register_method: there is an optimiser called {name!r} already; choose another name.")
    KINDS[name] = own


def optimiser_names() -> list[str]:
    """Every name on the axis of optimisers.

    Returns:
        The names of the catalogue, then the baselines and the peers.

    >>> [name for name in optimiser_names() if name.startswith("CAdam")]
    ['CAdam', 'CAdam-ME']
    """
    return [*CATALOGUE, *(kind for kind in KINDS if kind != MAXIMIZER)]


def optimiser_group(name: str) -> str:
    """The group of an optimiser.

    Args:
        name: on the axis of optimisers.

    Returns:
        `paper` or `extended` for the catalogue, `own` for what was registered, else `default` (the library as it comes,
        and its variants), `baseline` or `peer`.

    >>> optimiser_group("CAdam"), optimiser_group("SOX"), optimiser_group("bohb"), optimiser_group("pycma")
    ('paper', 'extended', 'baseline', 'peer')
    """
    if name in CATALOGUE and name not in BUILT_IN:
        return "own"
    if name in CATALOGUE:
        return "extended" if CATALOGUE[name].category == "extended" else "paper"
    return KINDS[name].group
