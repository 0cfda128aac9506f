"""What a maximisation costs: seconds against dimension, memory against the size of the pool and dimension."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.errors import OptionError
from compbo.study.outputs.aggregate import classes_in
from compbo.study.outputs.axes import CLASSES, SYNTHETIC, sorted_optimisers
from compbo.study.outputs.compact import finished
from compbo.study.outputs.figures.canvas import Drawing, EndLabel, curve, footnote, label_ends, panels
from compbo.study.outputs.look import class_look, look
from compbo.study.outputs.phrases import basis, intervals
from compbo.study.outputs.runs import BLOCK, NothingToShowError, blocks
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from compbo.study.outputs.runs import Study

SLOW = ("CMA-ES", "CMA-ES-Comp", "L-BFGS-B", "CL-BFGS-B", "RS", "DE", "DE-Comp")  # left out of the short form
PREFERRED = "ucb"  # the paper's choice; the acquisition function hardly matters for the time
MEGABYTE = 2.0**20
SMALLEST_MB = 1.0  # less than that is lost among what the process has freed before


def timed_runs(study: Study) -> pd.DataFrame:
    """Finished runs on synthetic functions with an acquisition function; `step_seconds`: the mean of a maximisation.

    If there are runs with UCB, these alone, as in the paper; otherwise those of all acquisition functions.
    """
    rows = finished(study.table[study.table["family"] == SYNTHETIC])
    rows = rows[rows["acquisition"] != ""]
    if (rows["acquisition"] == PREFERRED).any():
        rows = rows[rows["acquisition"] == PREFERRED]
    seconds = [_mean(steps) for steps in rows["maximise_seconds"]]
    rows = rows.assign(step_seconds=seconds, step_memory=[_mean(steps) for steps in rows["peak_memory"]])
    return rows[rows["step_seconds"].notna()]


def _mean(steps: Any) -> float:
    known = np.asarray(steps, dtype=np.float64)
    known = known[np.isfinite(known)]
    return float(known.mean()) if len(known) else np.nan


def by_dimension(rows: pd.DataFrame, column: str, by: str = "optimiser") -> dict[str, tuple[list[int], Estimate]]:
    """Per optimiser in the rows its dimensions and the mean of the column at each, with intervals.

    by: "group" for classes of optimisers.
    """
    found = {}
    for name in sorted_optimisers(rows["optimiser"]) if by == "optimiser" else classes_in(rows):
        part = rows[rows[by] == name]
        dimensions = sorted(set(part["dimension"]))
        each = []
        for dimension in dimensions:
            here = part[part["dimension"] == dimension]
            here = here.groupby([*BLOCK, "seed"], sort=True)[column].mean().reset_index()  # of the members of a class
            each.append(estimate(here[column].to_numpy(), blocks(here)))
        found[name] = (dimensions, _joined(each))
    return found


def _joined(each: list[Estimate]) -> Estimate:
    """Estimates one after the other as one curve; it has intervals if all of them have."""
    value, low, high = (np.array([float(one[k]) for one in each]) for k in range(3))
    unit = "nothing" if any(one.unit == "nothing" for one in each) else each[0].unit
    return Estimate(value, low, high, unit, sum(one.tasks for one in each), sum(one.runs for one in each))


def time_by_dimension(study: Study) -> dict[str, Drawing]:
    """Seconds of one maximisation against dimension: the first-order optimisers, and all of them."""
    rows = timed_runs(study)
    if not len(rows):
        raise NothingToShowError("no finished run on a synthetic function maximises an acquisition function")
    short = rows[~rows["optimiser"].isin(SLOW)]
    drawings = {"time-by-dimension-all": _time(rows, "all optimisers")}
    if len(short):
        drawings["time-by-dimension"] = _time(short, "without zeroth and second order")
    return drawings


def _time(rows: pd.DataFrame, which: str) -> Drawing:
    found = by_dimension(rows, "step_seconds")
    figure, axes = panels(1, 1, 7.2, 0.5 + max(3.8, 0.155 * len(found)))
    place = axes[0, 0]
    for name, (dimensions, one) in found.items():
        curve(place, dimensions, one, look(name), width=1.2)
    place.set_yscale("log")
    place.set_xticks(sorted(set(rows["dimension"])))
    place.set_xlabel("dimension")
    place.set_ylabel("seconds per maximisation")
    place.yaxis.set_major_formatter("{x:g}")
    place.yaxis.set_minor_formatter("{x:g}")
    place.tick_params(axis="y", which="minor", labelsize=7.0)
    figure.draw_without_rendering()  # the labels need to know how high the axes are
    last = max(rows["dimension"])
    label_ends(place, _ends({name: one for name, one in found.items() if one[0][-1] == last}), size=6.8)
    _label_early(place, {name: one for name, one in found.items() if one[0][-1] != last})
    which_acquisitions = ", ".join(sorted({name.upper() for name in rows["acquisition"]}))
    text = (
        f"Mean over steps and runs, {which}; {which_acquisitions}; {basis(rows)}. "
        f"Bands: {intervals({one.unit for _, one in found.values()})}. Measured on the machines that ran the cells."
    )
    footnote(figure, text)
    return Drawing(figure, f"Seconds of one maximisation against dimension. {text}")


def _label_early(place: Any, found: dict[str, tuple[list[int], Estimate]]) -> None:
    """Names of the curves that end before the largest dimension, beside their last point."""
    for dimension in sorted({dimensions[-1] for dimensions, _ in found.values()}):
        here = {name: one for name, one in found.items() if one[0][-1] == dimension}
        label_ends(place, _ends(here), size=6.8, x=dimension)


def _ends(found: dict[str, tuple[list[int], Estimate]]) -> list[EndLabel]:
    """Labels at the right ends of the curves."""
    return [EndLabel(float(one.value[-1]), name, look(name).colour) for name, (_, one) in found.items()]


class MemoryMeasurement(NamedTuple):
    """One measurement of `make bench ARGS=memory`: megabytes that one maximisation adds to the process."""

    maximizer: str  # its name
    dimension: int  # d
    pool: int  # M, columns of the sample pool
    columns: int  # of zeta
    measured_mb: float  # megabytes


def read_memory(path: Path) -> list[MemoryMeasurement]:
    """The table that `make bench ARGS=memory` writes, benchmarks/memory.csv."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if not set(MemoryMeasurement._fields) <= set(reader.fieldnames or ()):
            raise OptionError(
                "memory",
                "{option:{path}}: not a table of memory; it needs the columns {columns}, "
                "as `make bench ARGS=memory` writes them.",
                path=path,
                columns=", ".join(MemoryMeasurement._fields),
            )
        return [
            MemoryMeasurement(
                r["maximizer"], int(r["dimension"]), int(r["pool"]), int(r["columns"]), float(r["measured_mb"])
            )
            for r in reader
        ]


def memory(study: Study, measured: Sequence[MemoryMeasurement] = ()) -> dict[str, Drawing]:
    """Memory of a maximisation against M and dimension (measured alone), and of a whole step in the study."""
    rows = timed_runs(study)
    rows = rows[rows["step_memory"] > 0]
    if not len(rows) and not measured:
        raise NothingToShowError("no run recorded its memory, and no table of `make bench ARGS=memory` was given")
    figure, axes = panels(1, 3, 12.2, 4.2)
    _against(axes[0, 0], measured, "pool", "dimension", "M, columns of the sample pool")
    _against(axes[0, 1], measured, "dimension", "pool", "dimension")
    megabytes = rows.assign(step_memory=rows["step_memory"] / MEGABYTE)
    found = by_dimension(megabytes, "step_memory", "group") if len(rows) else {}
    for group, (dimensions, one) in found.items():
        curve(axes[0, 2], dimensions, one, class_look(group), width=1.1)
    axes[0, 2].set(xlabel="dimension", ylabel="MB", title="peak of the whole process, in the study")
    figure.draw_without_rendering()  # the labels need to know how high the axes are
    ends = [EndLabel(float(one.value[-1]), CLASSES[g], class_look(g).colour) for g, (_, one) in found.items()]
    label_ends(axes[0, 2], ends, size=6.8)
    for place in axes[0, :2]:
        label_ends(place, _last(place), size=6.8)
    text = (
        "Left and middle: what one maximisation adds to its process at its peak, in a process of its own "
        "(`make bench ARGS=memory`; less than 1 MB is drawn as 1 MB). Right: resident memory of the cell's process in "
        "a step, libraries included"
        + (f"; {basis(rows)}, {intervals({one.unit for _, one in found.values()})}." if len(rows) else "; not there.")
    )
    footnote(figure, text)
    return {"memory": Drawing(figure, f"Memory per maximisation. {text}")}


def _against(place: Any, measured: Sequence[MemoryMeasurement], x: str, fixed: str, label: str) -> None:
    """Megabytes against one of the sizes, the other at its smallest (dimension) or largest (M) value measured."""
    place.set(xlabel=label, ylabel="MB", title=f"one maximisation, against {'M' if x == 'pool' else 'dimension'}")
    if not measured:
        place.text(
            0.5, 0.5, "not measured:\nmake bench ARGS=memory\nwrites the table", transform=place.transAxes,
            ha="center", va="center", color="#8a94a0",
        )  # fmt: skip
        return
    choose = max if fixed == "pool" else min
    held = choose(getattr(one, fixed) for one in measured)
    for name in sorted_optimisers({one.maximizer for one in measured}):
        points = sorted(
            (getattr(one, x), max(one.measured_mb, SMALLEST_MB))
            for one in measured
            if one.maximizer == name and getattr(one, fixed) == held
        )
        style = look(name)
        place.plot(
            *zip(*points, strict=True), color=style.colour, linestyle=style.line, marker=style.marker, gid=name,
        )  # fmt: skip
    place.set_xscale("log" if x == "pool" else "linear")
    place.set_yscale("log")
    place.set_title(f"{place.get_title()} ({'d' if fixed == 'dimension' else 'M'} = {held})")


def _last(place: Any) -> list[EndLabel]:
    return [
        EndLabel(float(line.get_ydata()[-1]), line.get_gid(), look(line.get_gid()).colour)
        for line in place.get_lines()
        if line.get_gid()
    ]
