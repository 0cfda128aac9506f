"""Tables of what there is: tuning domains, acquisition functions and their forms, experiments, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from compbo.acquisition.registry import ACQUISITIONS
from compbo.maximizers import CATALOGUE
from compbo.study.outputs.axes import (
    PLAIN,
    REGRESSION_TASKS,
    SYNTHETIC,
    TUNING,
    method_axes,
    sorted_optimisers,
    task_axes,
)
from compbo.study.outputs.compact import finished
from compbo.study.outputs.phrases import listed
from compbo.study.outputs.runs import RUN, NothingToShowError, not_there
from compbo.study.outputs.source import DONE, paper_experiments
from compbo.study.outputs.tables.render import Table, plain

if TYPE_CHECKING:
    import pandas as pd

    from compbo.maximizers.hyperparameters import Domain, Hyperparameter
    from compbo.study.outputs.runs import Study

FORMS = {
    "ERM": ("(1/K) Σ h(v_k)", "K fresh Sobol normals at every step"),
    "FSM": ("(1/M) Σ h(v_m)", "a minibatch of K of a pool of M = K T, drawn once"),
    "Comp": ("f(ζ), ζ tracks E[g] with M columns", "a minibatch of K of a pool of M = K T, drawn once"),
    "ME": ("f(ζ), ζ tracks E[g] with K columns", "K fresh Sobol normals at every step"),
}


def domain_words(domain: Domain | Literal[True] | None) -> str:
    """A tuning domain as the paper writes it: LU(low, high), U(low, high), U{0, 1}; empty if there is none."""
    if domain is None:
        return ""
    if domain is True:
        return "U{0, 1}"
    low, high, scale = domain
    return f"{'LU' if scale == 'log' else 'U'}({_number(low)}, {_number(high)})"


def _number(value: float) -> str:
    text = f"1 - {1.0 - value:.0e}" if 0.9999 < value < 1.0 else f"{value:g}"
    return text.replace("e-0", "e-")


def tuning_domains(_study: Study) -> dict[str, Table]:
    """The paper's two tables of tuning domains, from the catalogue."""
    tables = {}
    for name, category, words in (
        ("tuning-domains-noncompositional", "NonComp", "non-compositional"),
        ("tuning-domains-compositional", "Comp", "compositional"),
    ):
        records: list[dict[str, Any]] = []
        for optimiser in sorted_optimisers(CATALOGUE):
            entry = CATALOGUE[optimiser]
            if entry.category == category and entry.form not in ("FSM", "ME") and entry.domain:
                records += _domain_records(optimiser)
        caption = (
            f"Tuning domains of the {words} optimisers, from the catalogue: LU is log-uniform, U uniform. "
            f"lr_drop is the scheduled decay of the learning rate, 1 minus the paper's factor."
        )
        shown = {key: key for key in ("optimiser", "hyperparameter", "domain", "paper's domain", "default", "meaning")}
        tables[name] = plain(caption, records, shown)
    return tables


def _domain_records(optimiser: str) -> list[dict[str, Any]]:
    others = [n for n in sorted_optimisers(CATALOGUE) if n != optimiser and _same_rule(n, optimiser)]
    title = listed([optimiser, *others], most=4)
    return [
        {
            "optimiser": title,
            "hyperparameter": key,
            "domain": domain_words(value.domain),
            "paper's domain": "" if CATALOGUE[optimiser].after_paper else domain_words(value.paper_domain),
            "default": _default(value),
            "meaning": value.about,
        }
        for key, value in CATALOGUE[optimiser].hyperparameters.items()
        if value.domain is not None
    ]


def _same_rule(name: str, other: str) -> bool:
    """Whether two entries are forms of one method."""
    first, second = method_axes(name).member, method_axes(other).member
    return first.removesuffix("-ME") == second.removesuffix("-ME")


def _default(value: Hyperparameter) -> str:
    return str(value.default).lower() if isinstance(value.default, bool) else f"{value.default:.4g}"


def acquisition_forms(study: Study) -> dict[str, Table]:
    """The acquisition functions with their formulas, and the runs in each form."""
    rows = finished(study.table)
    records = []
    for name, acquisition in ACQUISITIONS.items():
        here = rows[rows["acquisition"] == name]
        words, _, formula = (acquisition.__doc__ or "").split("\n")[0].rstrip(".").partition(": ")
        counts = {form: int((here["form"] == form).sum()) for form in FORMS}
        records.append({"acquisition": name.upper(), "name": words, "formula": formula, **counts})
    caption = (
        "Acquisition functions, with the inner values v of a sample (and the outer function f where it is not the mean "
        "of the largest), and the finished runs in each form: "
        + "; ".join(f"{form}: {FORMS[form][0]}" for form in FORMS)
    )
    shown = {key: key for key in ("acquisition", "name", "formula", *FORMS)}
    forms = [
        {
            "form": form,
            "maximised": FORMS[form][0],
            "samples": FORMS[form][1],
            "optimisers": ", ".join(_marked(n) for n in sorted_optimisers(CATALOGUE) if CATALOGUE[n].form == form),
        }
        for form in FORMS
    ]
    words = (
        "Forms of an acquisition function, and the optimisers of each. (fixed): it keeps one sample from start to end."
    )
    used = plain(words, forms, {key: key for key in forms[0]})
    return {"acquisition-forms": plain(caption, records, shown), "forms": used}


def _marked(name: str) -> str:
    return f"{name} (fixed)" if CATALOGUE[name].samples == "fixed" else name


def experiments(study: Study) -> dict[str, Table]:
    """What was run: tasks, acquisition functions, optimisers, seeds and runs, beside the paper's experiments."""
    table = study.table
    if not len(table):
        raise NothingToShowError("the table has no cells")
    names = [_part(task, dimension) for task, dimension in zip(table["task"], table["dimension"], strict=True)]
    paper = Counter(_part(cell.task, cell.dimension) for cell in paper_experiments())
    parts = sorted(set(names) | set(paper))
    records = [_experiment(part, table[[name == part for name in names]], paper.get(part)) for part in parts]
    caption = (
        "Overview of the experiments. An experiment is a task, an acquisition function and an optimiser, or a task and "
        "a baseline, whatever the number of seeds; the paper's are those of the preset `paper-exact`, which its "
        "captions count."
    )
    return {"experiments": plain(caption, records, {key: key.replace("_", " ") for key in records[0]})}


class _Part(NamedTuple):
    """A part of the overview; parts are listed in the order of these fields."""

    place: int
    variant: str
    dimension: int
    name: str


def _part(task: str, dimension: int) -> _Part:
    """Synthetic functions by variant and dimension, tuning tasks by problem, own tasks together."""
    axes = task_axes(task)
    if axes.family == SYNTHETIC:
        words = "" if axes.variant == PLAIN else f" {axes.variant}"
        return _Part(0, axes.variant if words else "", dimension, f"synthetic {dimension}D{words}")
    if axes.family == TUNING:
        return _Part(1 if axes.problem == REGRESSION_TASKS else 2, "", 0, f"tuning, {axes.problem}")
    return _Part(3, "", 0, "own tasks")


def _experiment(part: _Part, rows: pd.DataFrame, paper: int | None) -> dict[str, Any]:
    return {
        "part": part.name,
        "tasks": rows["task"].nunique(),
        "acquisitions": len(set(rows["acquisition"]) - {""}),
        "optimisers": rows["optimiser"].nunique(),
        "seeds": rows["seed"].nunique(),
        "experiments": len(rows[["task", "acquisition", "optimiser"]].drop_duplicates()),
        "paper": paper,
        "done": int((rows["status"] == DONE).sum()),
        "failed": int((rows["status"] != DONE).sum()),
    }


def missing(study: Study) -> dict[str, Table]:
    """Runs that failed or were not run, though every part of them occurs in the table."""
    rows = not_there(study)
    records = [{name: row[name] for name in [*RUN, "why"]} for row in rows.to_dict("records")]
    if not records:
        raise NothingToShowError("nothing is missing: every combination of what occurs in the table has finished")
    caption = (
        f"{len(records)} runs that failed, or were not run although their task, acquisition function, optimiser and "
        f"seed occur in the table. A grid need not be a full product: not everything here was ever asked for."
    )
    return {"missing": plain(caption, records, {name: name for name in [*RUN, "why"]})}
