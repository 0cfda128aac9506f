"""The cost of a maximisation in docs/reproduction.md, from benchmarks/cost.csv: by class, and for every optimiser."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.cost import Cost, N

from compbo.study.outputs.axes import CLASSES, method_axes, sorted_optimisers
from compbo.study.outputs.figures.canvas import Drawing, EndLabel, footnote, label_ends, panels
from compbo.study.outputs.look import class_look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NOT_MEASURED = "Not measured yet: `make bench ARGS=cost` on an idle machine, then `make results`."
HOW = f"""\
One acquisition step of the paper, alone on an idle machine with one thread: UCB, q = 16, 32 restarts, 64 steps of the
optimiser on 128 samples each, n = {N} observations, the start batches given, around observations (`make bench
ARGS=cost`). Seconds of the maximisation, and megabytes that it adds to its process at its peak; of a class the median
of its members."""
SMALLEST_MB = 0.1  # less than that is drawn as that


def dimensions_of(costs: Sequence[Cost]) -> list[int]:
    """The dimensions of the measurements `costs`, as a sorted list."""
    return sorted({cost.dimension for cost in costs})


def by_class(costs: Sequence[Cost], value: Callable[[Cost], float]) -> dict[str, list[float]]:
    """Medians of the classes.

    Args:
        costs: the measurements; every optimiser has the same dimensions.
        value: what of a measurement is meant.

    Returns:
        By class the median over its members, dimension by dimension.
    """
    found: dict[str, list[float]] = {}
    for group in CLASSES:
        members = [cost for cost in costs if method_axes(cost.maximizer).group == group]
        if members:
            found[group] = [median(value(c) for c in members if c.dimension == d) for d in dimensions_of(costs)]
    return found


def section(costs: Sequence[Cost]) -> list[str]:
    """The section on cost.

    Args:
        costs: the measurements; none if it was not measured.

    Returns:
        Paragraphs and tables in Markdown, without the heading.
    """
    if not costs:
        return [NOT_MEASURED]
    dimensions = dimensions_of(costs)
    seconds, megabytes = by_class(costs, lambda c: c.seconds), by_class(costs, lambda c: c.megabytes)
    classes = {CLASSES[group]: _entries(seconds[group], megabytes[group]) for group in seconds}
    every = {
        name: _entries(*zip(*((c.seconds, c.megabytes) for c in costs if c.maximizer == name), strict=True))
        for name in sorted_optimisers({cost.maximizer for cost in costs})
    }
    return [
        HOW,
        _markdown("class", dimensions, classes),
        _in_words(seconds, megabytes, dimensions),
        "![Seconds and megabytes of one maximisation against the dimension, by class](reproduction/cost.png)",
        "Every optimiser:",
        _markdown("optimiser", dimensions, every),
    ]


def _entries(seconds: Sequence[float], megabytes: Sequence[float]) -> list[str]:
    shown = [f"{s:.2f} s, {mb:.0f} MB" for s, mb in zip(seconds, megabytes, strict=True)]
    return [*shown, f"{seconds[-1] / seconds[0]:.1f}"]


def _markdown(what: str, dimensions: Sequence[int], rows: dict[str, list[str]]) -> str:
    names = [what, *(f"{d}D" for d in dimensions), f"time at {dimensions[-1]}D / {dimensions[0]}D"]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(entries) + " |" for name, entries in rows.items())])


def _in_words(seconds: dict[str, list[float]], megabytes: dict[str, list[float]], dimensions: Sequence[int]) -> str:
    """First-order compositional optimisers beside the others, at the smallest and at the largest dimension."""
    if not {"first", "first-comp"} <= seconds.keys():
        return "First-order optimisers, compositional and others, were not both measured."

    def ratio(of: dict[str, list[float]], place: int) -> str:
        return f"{of['first-comp'][place] / max(of['first'][place], SMALLEST_MB / 10):.2f}"

    times, memory = ([ratio(of, place) for place in (0, -1)] for of in (seconds, megabytes))
    growth = [f"{seconds[group][-1] / seconds[group][0]:.1f}" for group in ("first-comp", "first")]
    return (
        f"The median first-order compositional optimiser takes {times[0]} times as long as the median one without "
        f"composition in {dimensions[0]} dimensions and {times[1]} times in {dimensions[-1]}, with {memory[0]} and "
        f"{memory[1]} times the memory. From {dimensions[0]} to {dimensions[-1]} dimensions the times of both classes "
        f"grow by factors of {growth[0]} and {growth[1]}. CAdam, CAdam-ME and ASCGA evaluate the posterior twice in a "
        "step, the others once."
    )


def draw(costs: Sequence[Cost]) -> Drawing:
    """Both medians against the dimension, a line for every class.

    Args:
        costs: the measurements.

    Returns:
        The figure with its caption.
    """
    from matplotlib.ticker import LogLocator

    figure, axes = panels(1, 2, 10.5, 4.0)
    dimensions = dimensions_of(costs)
    for place, label, value in (
        (axes[0, 0], "seconds", lambda c: c.seconds),
        (axes[0, 1], "MB", lambda c: max(c.megabytes, SMALLEST_MB)),
    ):
        found = by_class(costs, value)
        for group, values in found.items():
            style = class_look(group)
            place.plot(dimensions, values, color=style.colour, linestyle=style.line, marker=style.marker)
        place.set(yscale="log", xlabel="dimension", ylabel=label, xticks=dimensions)
        place.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        place.yaxis.set_major_formatter("{x:g}")
        place.yaxis.set_minor_formatter("")
        figure.draw_without_rendering()  # the labels need to know how high the axes are
        label_ends(place, [EndLabel(v[-1], CLASSES[g], class_look(g).colour) for g, v in found.items()], size=6.8)
    text = f"One maximisation, alone on an idle machine with one thread: UCB, q = 16, n = {N}; medians of the classes."
    footnote(figure, text)
    return Drawing(figure, text)
