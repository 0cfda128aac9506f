"""The paper's Table 1: #Best (%) and NFR by optimiser, order, category and dimension, with its numbers beside ours.

The arithmetic, from a run to a cell of the table. A run has its normalised final regret (NFR) and its share of its
contest (1 for the lowest final regret of all optimisers from the same start, ties split). On one task (black box x
acquisition) and seed, a row of the table has the mean NFR of its forms (ERM and FSM) and the sum of their shares, and
a subtotal has the mean NFR of its rows and the sum of their shares. Then the mean over seeds, over the tasks of a
dimension that the row ran, and, for the last column, over dimensions. On complete results this is what the paper's
numbers satisfy.
"""

from __future__ import annotations

import csv
import itertools
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.study.outputs.axes import PLAIN, method_axes, sorted_optimisers
from compbo.study.outputs.figures.regret import named, require_synthetic
from compbo.study.outputs.phrases import basis, fixed, intervals, signed
from compbo.study.outputs.runs import BLOCK, NothingToShowError, blocks
from compbo.study.outputs.source import scores
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate
from compbo.study.outputs.tables.render import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from compbo.study.outputs.runs import Study

ALL = "all"
SUBTOTAL, TOTAL = "subtotal", "total"
CATEGORIES = ("NonComp", "Comp", "extended")
ORDERS = (0, 1, 2)
_PAPER_NAMES = {("Adamos", "NonComp"): "AdamOS", ("CMA-ES", "Comp"): "CMA-ES-Comp", ("DE", "Comp"): "DE-Comp"}


class Line(NamedTuple):
    """A row of the table: an optimiser, the subtotal of an order (optimiser: `subtotal`), or a category's `total`."""

    category: str
    order: str  # "" for a total
    optimiser: str


class LineScore(NamedTuple):
    """#Best and NFR of one line at one dimension."""

    best: Estimate  # percent
    nfr: Estimate  # normalised final regret


PaperNumbers = dict[tuple[Line, str], tuple[float, float]]


@lru_cache(maxsize=1)
def paper_numbers() -> PaperNumbers:
    """The paper's #Best and NFR by line and dimension, subtotals and totals worked out from its rows."""
    rows: PaperNumbers = {}
    with resources.files("compbo.study.outputs.tables").joinpath("table1.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            name = _PAPER_NAMES.get((row["optimiser"], row["category"]), row["optimiser"])
            line = Line(row["category"], row["order"], name)
            rows[line, row["dimension"]] = (float(row["best_percent"]), float(row["nfr"]))
    return rows | _paper_subtotals(rows)


def _paper_subtotals(rows: PaperNumbers) -> PaperNumbers:
    """Wins add up, NFRs are averaged over the rows; over dimensions both are averaged."""
    found: PaperNumbers = {}
    dimensions = list(dict.fromkeys(dimension for _, dimension in rows if dimension != ALL))
    for category, order in itertools.product(CATEGORIES[:2], ("0", "1", "2", "")):
        line = Line(category, order, SUBTOTAL if order else TOTAL)
        for dimension in dimensions:
            known = [
                numbers
                for (key, where), numbers in rows.items()
                if where == dimension and key.category == category and order in ("", key.order)
            ]
            found[line, dimension] = (sum(best for best, _ in known), float(np.mean([nfr for _, nfr in known])))
        means = np.mean([found[line, dimension] for dimension in dimensions], axis=0)
        found[line, ALL] = (float(means[0]), float(means[1]))
    return found


def lines_of(rows: pd.DataFrame) -> list[tuple[Line, pd.DataFrame]]:
    """The lines of the table with the runs of each; rows: of `scores.contests`."""
    found = []
    for category in CATEGORIES:
        part = rows[rows["category"] == category]
        for order in ORDERS:
            members = part[part["order"] == order]
            names = dict.fromkeys(method_axes(name).member for name in sorted_optimisers(members["optimiser"]))
            found += [(Line(category, str(order), name), members[members["member"] == name]) for name in names]
            if len(members):
                found.append((Line(category, str(order), SUBTOTAL), members))
        if len(part):
            found.append((Line(category, "", TOTAL), part))
    return found


def entry(rows: pd.DataFrame) -> LineScore:
    """#Best and NFR of the rows of a line; over several dimensions the mean of theirs."""
    keys = [*BLOCK, "seed", "dimension"]
    members = rows.groupby([*keys, "member"], sort=True).agg(nfr=("nfr", "mean"), won=("won", "sum"))
    contests = members.groupby(keys, sort=True).agg(nfr=("nfr", "mean"), won=("won", "sum")).reset_index()
    strata, dimensions = blocks(contests), contests["dimension"].to_numpy()
    return LineScore(
        estimate(100.0 * contests["won"].to_numpy(), strata, groups=dimensions),
        estimate(contests["nfr"].to_numpy(), strata, groups=dimensions),
    )


def contest_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, runs on functions of a variant, with their share of their contest.

    The paper's optimisers compete among themselves, as they did there; those from after it compete with all.
    """
    import pandas as pd

    of_paper = scores.contests(rows[rows["category"].isin(CATEGORIES[:2])])
    everyone = scores.contests(rows[rows["category"].isin(CATEGORIES)])
    return pd.concat([of_paper, everyone[everyone["category"] == "extended"]])


def table1(study: Study) -> dict[str, Table]:
    """Table 1 for every variant of the functions; the paper's numbers stand beside those of the plain ones."""
    return {
        named("table1", variant): _table(contest_rows(study.synthetic(variant)), variant)
        for variant in require_synthetic(study)
    }


def records_of(rows: pd.DataFrame, variant: str) -> list[dict[str, Any]]:
    """One record per line and dimension; rows: of `contest_rows`, variant: of the functions."""
    dimensions: list[Any] = [*sorted(set(rows["dimension"])), ALL]
    paper = paper_numbers() if variant == PLAIN else {}
    records = []
    for line, part in lines_of(rows):
        for dimension in dimensions:
            here = part if dimension == ALL else part[part["dimension"] == dimension]
            if len(here):
                records.append(_record(line, str(dimension), here, _beside(paper, line, here)))
    return records


def _beside(paper: PaperNumbers, line: Line, rows: pd.DataFrame) -> tuple[float, float] | None:
    """The paper's numbers over the dimensions of the rows of a line, or None if it lacks one of them.

    Of a subtotal they are over those of the paper's optimisers that ran here.
    """
    dimensions = [str(d) for d in sorted(set(rows["dimension"]))]
    if line.optimiser in (SUBTOTAL, TOTAL):
        return _subtotal_beside(paper, line, rows)
    known = {dimension for key, dimension in paper if key == line and dimension != ALL}
    if not set(dimensions) <= known:
        return None
    if set(dimensions) == known:
        return paper[line, ALL] if len(dimensions) > 1 else paper[line, dimensions[0]]
    numbers = [paper[line, dimension] for dimension in dimensions]
    return float(np.mean([best for best, _ in numbers])), float(np.mean([nfr for _, nfr in numbers]))


def _subtotal_beside(paper: PaperNumbers, line: Line, rows: pd.DataFrame) -> tuple[float, float] | None:
    found = []
    for dimension, part in rows.groupby("dimension"):
        ran = {Line(line.category, str(order), name) for order, name in zip(part["order"], part["member"], strict=True)}
        numbers = [paper[one, str(dimension)] for one in sorted(ran) if (one, str(dimension)) in paper]
        if not numbers:
            return None
        found.append((sum(best for best, _ in numbers), float(np.mean([nfr for _, nfr in numbers]))))
    return float(np.mean([best for best, _ in found])), float(np.mean([nfr for _, nfr in found]))


def _record(line: Line, dimension: str, rows: pd.DataFrame, paper: tuple[float, float] | None) -> dict[str, Any]:
    found = entry(rows)
    best, nfr = float(found.best.value), float(found.nfr.value)
    theirs = (np.nan, np.nan) if paper is None else paper
    return {
        **line._asdict(),
        "dimension": dimension,
        "tasks": found.nfr.tasks,
        "runs": len(rows),
        "best_percent": best,
        "best_low": float(found.best.low),
        "best_high": float(found.best.high),
        "nfr": nfr,
        "nfr_low": float(found.nfr.low),
        "nfr_high": float(found.nfr.high),
        "interval_over": found.nfr.unit,
        "paper_best_percent": theirs[0],
        "paper_nfr": theirs[1],
        "difference_best_percent": best - theirs[0],
        "difference_nfr": nfr - theirs[1],
    }


def _table(rows: pd.DataFrame, variant: str) -> Table:
    if not len(rows):
        raise NothingToShowError("no optimiser with an acquisition function has a finished run on a synthetic function")
    records = records_of(rows, variant)
    dimensions = list(dict.fromkeys(record["dimension"] for record in records if record["dimension"] != ALL))
    columns = ["", "order", "optimiser"]
    for dimension in [*dimensions, ALL]:
        title = "all" if dimension == ALL else f"{dimension}D"
        columns += [f"{title} #Best %", f"{title} NFR"]
    shown = _shown(records, [*dimensions, ALL])
    beside = (
        " In brackets: the paper's number over the same dimensions (a subtotal: over those of its optimisers that ran "
        "here) and all its acquisition functions, and ours minus it."
        if variant == PLAIN
        else ""
    )
    caption = (
        f"Table 1: share of the tasks won (#Best, ties split, over the tasks that an optimiser ran) and normalised "
        f"final regret (NFR).{beside} Bold: best of its column among those that ran in all of it. "
        f"{_acquisitions(rows)} {basis(rows)}; "
        f"{intervals({record['interval_over'] for record in records})} (after the NFR of all dimensions; the "
        f"others are in the CSV file)."
    )
    return Table(caption, records, columns, shown)


def _acquisitions(rows: pd.DataFrame) -> str:
    """Under which acquisition functions the rows ran, by dimension where that differs."""
    under = {
        d: ", ".join(part).upper() for d, part in rows.groupby("dimension")["acquisition"].unique().map(sorted).items()
    }
    if len(set(under.values())) == 1:
        return f"Acquisition functions: {next(iter(under.values()))}."
    return "Acquisition functions: " + "; ".join(f"{names} in {d}D" for d, names in under.items()) + "."


def _shown(records: list[dict[str, Any]], dimensions: Sequence[str]) -> list[Sequence[str] | None]:
    """The wide form: a row per line, two columns per dimension, a rule after every subtotal."""
    by_line: dict[Line, dict[str, dict[str, Any]]] = {}
    for record in records:
        line = Line(record["category"], record["order"], record["optimiser"])
        by_line.setdefault(line, {})[record["dimension"]] = record
    top = {dimension: _tops(records, dimension) for dimension in dimensions}
    rows: list[Sequence[str] | None] = []
    for line, cells in by_line.items():
        strong = line.optimiser in (SUBTOTAL, TOTAL)
        row = [line.category, line.order, f"**{line.optimiser}**" if strong else line.optimiser]
        for dimension in dimensions:
            row += _cells(cells.get(dimension), top[dimension], last=dimension == ALL)
        rows.append(row)
        if strong:
            rows.append(None)
    return rows[:-1]


def _tops(records: list[dict[str, Any]], dimension: str) -> tuple[float, float]:
    """The largest #Best and the smallest NFR of a column among those with all of its tasks, subtotals apart."""
    rows = [r for r in records if r["dimension"] == dimension and r["optimiser"] not in (SUBTOTAL, TOTAL)]
    most = max((r["tasks"] for r in rows), default=0)
    rows = [r for r in rows if r["tasks"] == most]
    return max((r["best_percent"] for r in rows), default=np.nan), min((r["nfr"] for r in rows), default=np.nan)


def _cells(record: dict[str, Any] | None, top: tuple[float, float], *, last: bool) -> list[str]:
    if record is None:
        return ["–", "–"]
    single = record["optimiser"] not in (SUBTOTAL, TOTAL)
    best, nfr = fixed(record["best_percent"], 0), fixed(record["nfr"])
    best = f"**{best}**" if single and record["best_percent"] == top[0] else best
    nfr = f"**{nfr}**" if single and record["nfr"] == top[1] else nfr
    if last and np.isfinite(record["nfr_low"]):
        nfr += f" [{fixed(record['nfr_low'])}, {fixed(record['nfr_high'])}]"
    if np.isfinite(record["paper_nfr"]):
        best += f" ({fixed(record['paper_best_percent'], 0)}, {signed(record['difference_best_percent'], 0)})"
        nfr += f" ({fixed(record['paper_nfr'])}, {signed(record['difference_nfr'])})"
    return [best, nfr]
