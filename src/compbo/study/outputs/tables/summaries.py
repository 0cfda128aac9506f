"""Tables of numbers behind the figures: final regret, pairs of forms, comparisons, costs, verdicts, scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.study.outputs.aggregate import FAIR, HOW_WORDS, PAPER, by_class, common_blocks, paired_difference
from compbo.study.outputs.axes import CLASSES, sorted_acquisitions, sorted_optimisers
from compbo.study.outputs.compact import finished
from compbo.study.outputs.contests import finals, ranked
from compbo.study.outputs.figures.bayesmark import COMPARED, PROBLEMS, STEPS_SHOWN, models_in, pooled, scored
from compbo.study.outputs.figures.cost import MEGABYTE, timed_runs
from compbo.study.outputs.figures.pairs import all_pairs_difference, erm_fsm_pairs, standard_me_pairs
from compbo.study.outputs.figures.regret import named, require_synthetic
from compbo.study.outputs.phrases import basis
from compbo.study.outputs.runs import NothingToShowError, blocks
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate, iqm, mean, median
from compbo.study.outputs.statistics.improvement import probability_of_improvement
from compbo.study.outputs.tables.render import Table, plain

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.runs import Study

INTERVAL = {"low": "low", "high": "high", "interval_over": "interval over"}
ALL = "all"


def interval(found: Estimate, name: str = "value") -> dict[str, Any]:
    """The columns of what was found, a number and its interval, under the name of the number."""
    return {name: float(found.value), "low": float(found.low), "high": float(found.high), "interval_over": found.unit}


def final_regret(study: Study) -> dict[str, Table]:
    """Mean, median and interquartile mean of the final regret by optimiser and dimension."""
    tables = {}
    for variant in require_synthetic(study):
        rows, records = study.synthetic(variant), []
        for dimension in [*sorted(set(rows["dimension"])), ALL]:
            here = rows if dimension == ALL else rows[rows["dimension"] == dimension]
            for name in sorted_optimisers(here["optimiser"]):
                part = here[here["optimiser"] == name]
                for what, statistic in (("mean", mean), ("median", median), ("iqm", iqm)):
                    found = estimate(part["nfr"].to_numpy(), blocks(part), statistic)
                    who = {"optimiser": name, "dimension": str(dimension), "statistic": what}
                    records.append({**who, **interval(found, "nfr"), "tasks": found.tasks, "runs": found.runs})
        shown = {"optimiser": "optimiser", "dimension": "dimension", "statistic": "statistic", "nfr": "NFR", **INTERVAL}
        caption = f"Normalised final regret by optimiser and dimension. {basis(rows)}."
        tables[named("final-regret", variant)] = plain(caption, records, {**shown, "tasks": "tasks", "runs": "runs"})
    return tables


def regret_by_class(study: Study) -> dict[str, Table]:
    """The curves of the summary by class, step by step: fair, and the paper's way."""
    tables = {}
    for variant in require_synthetic(study):
        rows = study.synthetic(variant)
        records: list[dict[str, Any]] = []
        for how in (FAIR, PAPER):
            for group, found in by_class(rows, how).items():
                for step in range(len(found.value)):
                    here = found._replace(value=found.value[step], low=found.low[step], high=found.high[step])
                    records.append({"class": CLASSES[group], "way": how, "step": step, **interval(here, "regret")})
        last = max(record["step"] for record in records)
        ends = [record for record in records if record["step"] == last]
        shown = {"class": "class", "way": "member", "regret": f"regret at step {last}", **INTERVAL}
        words = "; ".join(HOW_WORDS[how] for how in (FAIR, PAPER))
        table = plain(f"Mean normalised regret by class ({words}). {basis(rows)}.", ends, shown)
        tables[named("regret-by-class", variant)] = table._replace(records=records)
    return tables


def pairs_of_forms(study: Study) -> dict[str, Table]:
    """FSM minus ERM and ME minus standard, in final regret, from the same starts."""
    tables = {}
    for variant in require_synthetic(study):
        rows, records = study.synthetic(variant), []
        for what, found_pairs in (("FSM - ERM", erm_fsm_pairs(rows)), ("ME - standard", standard_me_pairs(rows))):
            pairs = [pair for pair in found_pairs if len(common_blocks(rows, [pair.first, pair.second]))]
            for pair in pairs:
                found = paired_difference(rows, pair.second, pair.first)
                who = {"difference": what, "optimiser": pair.title}
                records.append({**who, **interval(found, "nfr"), "black_boxes": found.tasks})
            if pairs:
                found = all_pairs_difference(rows, pairs)
                who = {"difference": what, "optimiser": ALL}
                records.append({**who, **interval(found, "nfr"), "black_boxes": found.tasks})
        if records:
            of_whom = {"difference": "difference", "optimiser": "optimiser"}
            shown = {**of_whom, "nfr": "NFR", **INTERVAL, "black_boxes": "black boxes"}
            caption = "What the newer form adds to the final regret, run by run from the same start; below 0 is better."
            tables[named("pairs", variant)] = plain(caption, records, shown)
    if not tables:
        raise NothingToShowError("no task has a finished run of both forms of an optimiser")
    return tables


def improvement(study: Study) -> dict[str, Table]:
    """Probability of improvement and corrected p of every two optimisers."""
    tables = {}
    for variant in require_synthetic(study):
        rows = study.synthetic(variant)
        found = finals(rows)
        if len(found.optimisers) < 2:
            continue
        result = ranked(rows)
        one = probability_of_improvement(found.values)
        places = {name: place for place, name in enumerate(result.optimisers)}
        records = []
        for i, first in enumerate(found.optimisers):
            for j, second in enumerate(found.optimisers[i + 1 :], start=i + 1):
                tested = first in places and second in places
                p = float(result.ranking.pairs[places[first], places[second]]) if tested else np.nan
                who = {"optimiser": first, "against": second, "probability": float(one.probability[i, j])}
                ends = {"low": float(one.low[i, j]), "high": float(one.high[i, j]), "interval_over": one.unit}
                records.append({**who, **ends, "tasks": int(one.tasks[i, j]), "wilcoxon_holm_p": p})
        shown = {"optimiser": "optimiser", "against": "against", "probability": "P(ends lower)", **INTERVAL}
        caption = "Probability that an optimiser ends lower than another, and Wilcoxon's p after Holm's correction."
        more = {"tasks": "tasks", "wilcoxon_holm_p": "p (Holm)"}
        tables[named("improvement", variant)] = plain(caption, records, {**shown, **more})
    if not tables:
        raise NothingToShowError("it takes two optimisers with an acquisition function")
    return tables


def ranks(study: Study) -> dict[str, Table]:
    """Mean ranks, and Friedman's test in the caption."""
    tables = {}
    for variant in require_synthetic(study):
        result = ranked(study.synthetic(variant))
        order = np.argsort(result.ranking.mean_ranks, kind="stable")
        records = [{"optimiser": result.optimisers[i], "mean_rank": float(result.ranking.mean_ranks[i])} for i in order]
        if records:
            test = f"Friedman's χ² = {result.ranking.friedman:.4g}, p = {result.ranking.p:.2g}"
            caption = f"Mean ranks on {result.ranking.tasks} tasks that all of these ran (1 is best). {test}."
            shown = {"optimiser": "optimiser", "mean_rank": "mean rank"}
            tables[named("ranks", variant)] = plain(caption, records, shown)
    if not tables:
        raise NothingToShowError("no optimiser with an acquisition function has a finished run")
    return tables


def costs(study: Study) -> dict[str, Table]:
    """Seconds and memory of a step by optimiser and dimension."""
    rows = timed_runs(study)
    if not len(rows):
        raise NothingToShowError("no finished run on a synthetic function maximises an acquisition function")
    records = []
    for dimension in sorted(set(rows["dimension"])):
        for name in sorted_optimisers(rows.loc[rows["dimension"] == dimension, "optimiser"]):
            part = rows[(rows["dimension"] == dimension) & (rows["optimiser"] == name)]
            found = estimate(part["step_seconds"].to_numpy(), blocks(part))
            memory = float(part["step_memory"].mean()) / MEGABYTE
            who = {"optimiser": name, "dimension": int(dimension)}
            records.append({**who, **interval(found, "seconds"), "memory_mb": memory, "runs": len(part)})
    shown = {"optimiser": "optimiser", "dimension": "dimension", "seconds": "seconds per maximisation", **INTERVAL}
    caption = "Seconds of one maximisation, and peak memory of the process during a step, means over steps and runs."
    return {"costs": plain(caption, records, {**shown, "memory_mb": "peak memory (MB)", "runs": "runs"})}


def verdicts(study: Study) -> dict[str, Table]:
    """How the maximisations ended, and the acquisition value reached at the first step, by optimiser."""
    rows = finished(study.table)
    rows = rows[rows["acquisition"] != ""]
    if not len(rows):
        raise NothingToShowError("no optimiser with an acquisition function has a finished run")
    counts = [json.loads(text) for text in rows["verdicts"]]
    words = sorted({word for one in counts for word in one})
    rows = rows.assign(**{word: [one.get(word, 0) for one in counts] for word in words})
    first = rows.groupby(["task", "acquisition", "seed"])["first_acquisition_value"].rank(ascending=False)
    rows = rows.assign(first_rank=first)
    records = []
    for acquisition in sorted_acquisitions(rows["acquisition"]):
        for name in sorted_optimisers(rows.loc[rows["acquisition"] == acquisition, "optimiser"]):
            part = rows[(rows["acquisition"] == acquisition) & (rows["optimiser"] == name)]
            total = max(int(part[words].to_numpy().sum()), 1)
            shares = {word: 100.0 * float(part[word].sum()) / total for word in words}
            who = {"acquisition": acquisition.upper(), "optimiser": name}
            records.append({**who, **shares, "first_step_rank": float(part["first_rank"].mean()), "runs": len(part)})
    shown = {"acquisition": "acquisition", "optimiser": "optimiser", **{word: f"{word} %" for word in words}}
    caption = (
        "How the maximisations ended, in percent, and the mean rank of the acquisition value reached at the first "
        "step, where all optimisers face the same surrogate (1 is the highest)."
    )
    return {"verdicts": plain(caption, records, {**shown, "first_step_rank": "rank at step 1", "runs": "runs"})}


def scores(study: Study) -> dict[str, Table]:
    """Bayesmark scores by problem, model, class and number of evaluations: best, median and average member."""
    records = []
    for problem in PROBLEMS:
        rows = scored(study, problem)
        for model in [*models_in(rows), ALL]:
            here = rows if model == ALL else rows[rows["model"] == model]
            for group in (*COMPARED, "random-search"):
                for way in ("median", "average", "best"):
                    for step in STEPS_SHOWN:
                        records += _score_record(here, problem, model, group, way, step)
    if not records:
        raise NothingToShowError("no finished run on a tuning task has a score")
    shown = {"problem": "problem", "model": "model", "class": "class", "member": "member", "batches": "batches"}
    caption = (
        "Bayesmark score (100: best known loss, 0: random search after as many evaluations, or worse): the median over "
        "tasks and seeds of the median, average and best member of a class; best is the paper's way."
    )
    return {"bayesmark-scores": plain(caption, records, {**shown, "score": "score", **INTERVAL, "tasks": "tasks"})}


def _score_record(
    rows: pd.DataFrame, problem: str, model: str, group: str, way: str, step: int
) -> list[dict[str, Any]]:
    values, tasks = pooled(rows, group, way, step)
    if not len(values):
        return []
    found = estimate(values, tasks, median)
    who = {"problem": problem, "model": model, "class": CLASSES[group], "member": way, "batches": step}
    return [{**who, **interval(found, "score"), "tasks": found.tasks}]
