"""What the tab key offers as the value of an option."""

from __future__ import annotations

ACQUISITIONS = ("ei", "pi", "sr", "ucb", "logei", "portfolio")


def acquisitions(incomplete: str) -> list[str]:
    """Names of acquisition functions that begin like the incomplete one."""
    return [name for name in ACQUISITIONS if name.startswith(incomplete)]


def maximizers(incomplete: str) -> list[str]:
    """Names of the catalogue that begin like the incomplete one."""
    from compbo.maximizers import catalogue_rows

    return [row["name"] for row in catalogue_rows() if row["name"].startswith(incomplete)]
