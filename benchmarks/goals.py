"""Which goals of speed are met, read off the stored tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.common import SIZES, Row
from compbo.words import counted

NOTE = "Of the tables below; at W(16,100), W(40,250), W(120,515) where there are three numbers."
MET, MISSED = "met", "**missed**"
LARGER = [f"W({d},{n})" for d, n in SIZES[1:]]


class Goal(NamedTuple):
    """A goal: the numbers of a column in the rows of a section that have these entries, and what each should be."""

    words: str
    section: str
    column: str
    where: dict[str, tuple[str, ...]]
    wanted: tuple[float, ...]  # one for all rows, or one for each
    at_most: bool = False


GOALS = (
    Goal(
        "value and gradient of UCB, in single precision, times faster than BoTorch",
        "value-and-gradient",
        "single, times faster",
        {"acquisition": ("ucb",), "size": tuple(LARGER)},
        (6.0, 5.0, 5.0),
    ),
    *(
        Goal(
            f"a BO step with {name}, times faster than BoTorch",
            "step",
            f"{name} times faster",
            {"step": tuple(LARGER)},
            (5.0,),
        )
        for name in ("CAdam", "CAdam-ME", "Adam-ERM")
    ),
    Goal(
        "a maximisation with CAdam-ME, times one with Adam-ERM",
        "maximisation",
        "times Adam-ERM",
        {"method": ("CAdam-ME",), "size": tuple(LARGER)},
        (1.3,),
        at_most=True,
    ),
    *(
        Goal(
            f"`optimize_acqf` through the plug with {method} ({name}), times faster than BoTorch's",
            "plug",
            "times faster",
            {"what": (method,), "acquisition": (name,)},
            (3.0,),
        )
        for name in ("ucb", "logei")
        for method in ("Adam-ERM", "L-BFGS-B")
    ),
    *(
        Goal(
            f"a suggestion of {counted(q, 'point')} in 6, 20 and 60 dimensions, times faster than {peer}",
            "suggestions",
            f"{peer} / compbo",
            {"q": (str(q),)},
            (8.0,),
        )
        for q in (8, 1)
        for peer in ("optuna-gp", "turbo", "hebo", "smac", "botorch-qlogei-sequential")
    ),
    Goal(
        "an ask beside two busy processes, times a quiet one",
        "load",
        "beside 2 / quiet",
        {"package": ("compbo",)},
        (2.5,),
        at_most=True,
    ),
    Goal(
        "seconds of CPU of an ask with 2,000 and 10,000 evaluations behind it",
        "many-evaluations",
        "CPU s",
        {"evaluations": ("2000", "10000"), "q": ("8",)},
        (5.0, 30.0),
        at_most=True,
    ),
)


def goals_table(results: dict[str, dict[str, Any]]) -> str:
    """The goals whose sections have been measured.

    Args:
        results: the stored sections.

    Returns:
        A table in Markdown.
    """
    lines = ["| goal | wanted | measured | |", "|---|---|---|---|"]
    for goal in GOALS:
        numbers = _numbers(goal, results.get(goal.section, {}).get("rows", []))
        if numbers:
            wanted = goal.wanted if len(goal.wanted) == len(numbers) else goal.wanted * len(numbers)
            good = [n <= w if goal.at_most else n >= w for n, w in zip(numbers, wanted, strict=True)]
            said = MET if all(good) else MISSED if not any(good) else f"met in {sum(good)} of {len(good)}"
            asked = ("at most " if goal.at_most else "") + ", ".join(f"{w:g}" for w in goal.wanted)
            lines.append(f"| {goal.words} | {asked} | {', '.join(f'{n:.2g}' for n in numbers)} | {said} |")
    return "\n".join(lines)


def _numbers(goal: Goal, rows: list[Row]) -> list[float]:
    chosen = [row for row in rows if all(str(row.get(key)) in values for key, values in goal.where.items())]
    return [float(row[goal.column]) for row in chosen if isinstance(row.get(goal.column), (int, float))]
