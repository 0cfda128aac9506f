"""What the tab key offers as the value of an option."""

from __future__ import annotations

import contextlib
from importlib import metadata

import typer  # noqa: TC002 - Typer reads the annotations

from compbo.plugins import GROUP, load_installed, load_plugin

ACQUISITIONS = ("ei", "pi", "sr", "ucb", "logei", "portfolio")


def acquisitions(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of acquisition functions that begin like the incomplete one; of several, the last one is completed.

    ctx: the words before it; the parts of a `--plugin` among them are offered, too.
    """
    before, comma, last = incomplete.rpartition(",")
    names = [*ACQUISITIONS, *_registered_acquisitions(ctx)]
    return [before + comma + name for name in names if name.startswith(last)]


def _registered_acquisitions(ctx: typer.Context) -> list[str]:
    """Those of plugins; without any, nothing slow is imported."""
    if not ctx.params.get("plugin") and not metadata.entry_points(group=GROUP):
        return []
    _load_plugins(ctx)
    from compbo.acquisition import registry

    return [name for name in registry.ACQUISITIONS if name not in ACQUISITIONS]


def maximizers(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the catalogue, with those of the plugins in its context `ctx`, that begin like the incomplete one."""
    from compbo.maximizers import CATALOGUE

    _load_plugins(ctx)
    return [name for name in CATALOGUE if name.startswith(incomplete)]


def _load_plugins(ctx: typer.Context) -> None:
    """Load what can be loaded; the command says what is wrong with the rest, the tab key cannot."""
    with contextlib.suppress(ValueError):
        load_installed()
    for reference in ctx.params.get("plugin") or ():
        with contextlib.suppress(ValueError):
            load_plugin(reference)
