"""Numbers and what they rest on, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate, Unit

UNITS = {
    "seeds": "95\u00a0% bootstrap intervals over seeds, within tasks",
    "tasks": "95\u00a0% bootstrap intervals over tasks (not all have several seeds)",
    "black boxes": "95\u00a0% intervals over black boxes by Student's t",
    "nothing": "no intervals: too few runs",
}
DASH = "–"


def number(value: float, digits: int = 3) -> str:
    """A value with `digits` significant digits, in few characters; a dash where there is none."""
    if not math.isfinite(value):
        return DASH
    text = f"{value:.{digits}g}"
    return text.replace("e-0", "e-").replace("e+0", "e")


def fixed(value: float, places: int = 2) -> str:
    """A value with `places` decimals; a dash where there is none. Zero has no sign."""
    if not math.isfinite(value):
        return DASH
    text = f"{value:.{places}f}"
    return text.lstrip("-") if float(text) == 0.0 else text


def signed(value: float, places: int = 2) -> str:
    """A value, a difference, with `places` decimals: `+0.02`, `-0.02`, or `0.00` without a sign."""
    text = fixed(value, places)
    return f"+{text}" if math.isfinite(value) and float(text) > 0.0 else text


def with_interval(found: Estimate, places: int = 2, unit: str = "") -> str:
    """What was found with its interval, `0.31 [0.28, 0.35]`, or words that there is no interval.

    places: decimals. unit: behind the value.
    """
    value = f"{fixed(float(found.value), places)}{unit}"
    if found.unit == "nothing":
        return f"{value} (no interval: too few runs)"
    return f"{value} [{fixed(float(found.low), places)}, {fixed(float(found.high), places)}]"


def basis(rows: pd.DataFrame) -> str:
    """How much data the rows are: `20 tasks (black box x acquisition), 40 runs, seeds 0 and 1`."""
    tasks = len(rows[["task", "acquisition"]].drop_duplicates())
    return f"{counted(tasks, 'task')} (black box × acquisition), {counted(len(rows), 'run')}, {seeds_of(rows)}"


def coverage(rows: pd.DataFrame, by: str) -> dict[str, str]:
    """For every optimiser in the rows that did not run on all black boxes: on how many it did, in brackets.

    by: "group" for classes of optimisers.
    """
    total = rows["task"].nunique()
    counts = rows.groupby(by)["task"].nunique()
    return {str(name): f" ({count} of {total})" if count < total else "" for name, count in counts.items()}


def coverage_words(notes: dict[str, str]) -> str:
    """What the brackets of the notes mean, if there are any."""
    return " In brackets: on how many of the black boxes it ran." if any(notes.values()) else ""


def seeds_of(rows: pd.DataFrame) -> str:
    """The seeds of the rows: `seed 0`, `seeds 0 to 4`, or how many."""
    seeds = sorted(set(rows["seed"]))
    if len(seeds) < 2:
        return f"seed {seeds[0]}" if seeds else "no seed"
    if seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return counted(len(seeds), "seed")


def listed(words: list[str], most: int = 8) -> str:
    """The words as a list, `a, b and c`; if there are more than `most`, the first and how many more."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def intervals(units: set[Unit]) -> str:
    """What the bands of a figure are, given the units that were resampled."""
    known = [UNITS[unit] for unit in UNITS if unit in units]
    return "; ".join(known[:2] if len(known) > 1 and "nothing" in units else known) or UNITS["nothing"]
