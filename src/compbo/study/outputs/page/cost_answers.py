"""Questions 3 and 4: what memory-efficient forms save and cost, and the time of compositional methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.study.outputs.axes import CLASSES
from compbo.study.outputs.figures.pairs import all_pairs_difference, standard_me_pairs
from compbo.study.outputs.page.answer import (
    COMP,
    FIRST,
    TOO_FEW,
    UNDECIDED,
    Answer,
    both_ran,
    by_variant,
    decide,
    meaning,
    nothing,
    pairs_in_words,
    why_too_few,
)
from compbo.study.outputs.phrases import fixed, with_interval
from compbo.study.outputs.runs import blocks
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from compbo.study.outputs.figures.cost import MemoryMeasurement
    from compbo.study.outputs.figures.pairs import FormPair
    from compbo.study.outputs.runs import Study


def memory_efficient(study: Study, measured: Sequence[MemoryMeasurement] = ()) -> Answer:
    """The answer to question 3; measured: memory of single maximisations, from `make bench ARGS=memory`."""
    question = (
        "What are the practical savings for using memory-efficient implementations of compositional acquisition "
        "functions?"
    )
    verdict, sentences = "", []
    for where, rows in by_variant(study):
        pairs = both_ran(rows, standard_me_pairs(rows))
        if not pairs:
            continue
        found = all_pairs_difference(rows, pairs)
        said = decide(found, "they cost nothing", "they cost some regret")
        verdict = verdict or ("no cost can be told" if said == UNDECIDED else said)
        lead = (
            f"{where}ME minus standard in normalised final regret is {with_interval(found, 3)} on average over "
            f"{counted(len(pairs), 'optimiser')} and {counted(found.tasks, 'task')}."
        )
        sentences += [
            lead,
            meaning(said, found, "ME ends lower.", "ME ends higher."),
            *pairs_in_words(rows, pairs, "ME"),
            *_saved(rows, pairs),
        ]
    if not sentences:
        return nothing(question, "finished runs of a compositional optimiser in both forms on the same tasks")
    return Answer(question, verdict, [*sentences, *_alone(measured)])


def _alone(measured: Sequence[MemoryMeasurement]) -> list[str]:
    """Memory of one maximisation in a process of its own, at the largest pool that was measured."""
    if not measured:
        return []
    pool = max(one.pool for one in measured)
    dimension = min(one.dimension for one in measured)
    found = {one.maximizer: one.measured_mb for one in measured if (one.pool, one.dimension) == (pool, dimension)}
    words = [
        f"{name} {fixed(found[name], 1)} MB, {name}-ME {fixed(found[f'{name}-ME'], 1)} MB"
        for name in found
        if f"{name}-ME" in found
    ]
    where = f"in {dimension} dimensions with a pool of M = {pool}"
    return [f"Measured alone, one maximisation {where} adds to its process: {'; '.join(words)}."] if words else []


def _saved(rows: pd.DataFrame, pairs: list[FormPair]) -> list[str]:
    """Memory and time of a step, ME as a part of standard."""
    sentences = []
    for column, what in (
        ("peak_memory", "peak memory of the whole process during a step, libraries and surrogate included"),
        ("maximise_seconds", "seconds of a maximisation"),
    ):
        found = ratio(rows, [(pair.second, pair.first) for pair in pairs], "optimiser", column)
        if found.runs:
            sentences.append(f"In {what}, ME takes {with_interval(found, 2)} times what the standard form takes.")
    return sentences


def ratio(rows: pd.DataFrame, pairs: list[tuple[str, str]], by: str, column: str) -> Estimate:
    """First over second of a per-step cost, the geometric mean over runs from the same start and over the pairs.

    rows: of all of them. by: the column of the names. column: of the costs.
    """
    keys = ["task", "acquisition", "seed"]
    means = [_mean_cost(steps) for steps in rows[column]]
    costs = rows.assign(cost=means)
    costs = costs[costs["cost"].notna()]
    sides = []
    for first, second in pairs:
        one, other = (costs[costs[by] == name].groupby(keys)["cost"].median() for name in (first, second))
        sides.append((one / other).dropna().map(np.log).rename(f"{first}/{second}"))
    if not sides or not any(len(side) for side in sides):
        return estimate([], [])
    import pandas as pd

    logs = pd.concat(sides, axis=1).mean(axis=1).rename("log").reset_index()
    found = estimate(logs["log"].to_numpy(), blocks(logs))
    return found._replace(value=np.exp(found.value), low=np.exp(found.low), high=np.exp(found.high))


def _mean_cost(steps: object) -> float:
    known = np.asarray(steps, dtype=np.float64)
    known = known[np.isfinite(known) & (known > 0)]
    return float(known.mean()) if len(known) else np.nan


def runtime(study: Study) -> Answer:
    """The answer to question 4."""
    question = (
        "Are compositional methods more computationally expensive than non-compositional optimisation methods and how "
        "does runtime scale as a function of the input dimensionality?"
    )
    for _, rows in by_variant(study):
        found = ratio(rows, [(COMP, FIRST)], "group", "maximise_seconds")
        if not found.runs:
            continue
        said = decide(found._replace(low=np.log(found.low), high=np.log(found.high)), "no", "yes")
        lead = (
            f"One maximisation takes a first-order compositional optimiser {with_interval(found, 2)} times as long as "
            f"a non-compositional one (median members, geometric mean over {counted(found.tasks, 'task')}); the paper: "
            f"1.5 to 2 times."
        )
        sentences = [
            lead,
            *([why_too_few(found)] if said == TOO_FEW else []),
            *_growth(rows),
        ]
        return Answer(question, said, sentences)
    return nothing(question, "finished runs of first-order optimisers of both kinds on the same tasks")


def _growth(rows: pd.DataFrame) -> list[str]:
    dimensions = sorted(set(rows["dimension"]))
    if len(dimensions) < 2:
        return [f"All runs are in {dimensions[0]} dimensions: how the time grows cannot be seen."]
    first, last = dimensions[0], dimensions[-1]
    words = []
    for group in (FIRST, COMP):
        part = rows[rows["group"] == group]
        means = [_typical(part[part["dimension"] == dimension]) for dimension in (first, last)]
        words.append(f"{CLASSES[group]} {fixed(means[0], 2)} s and {fixed(means[1], 2)} s")
    ends = [ratio(rows[rows["dimension"] == d], [(COMP, FIRST)], "group", "maximise_seconds") for d in (first, last)]
    ratios = f"The ratio goes from {with_interval(ends[0], 2)} to {with_interval(ends[1], 2)}."
    return [f"From {first} to {last} dimensions, mean seconds: {'; '.join(words)}. {ratios}"]


def _typical(rows: pd.DataFrame) -> float:
    means = [cost for cost in (_mean_cost(steps) for steps in rows["maximise_seconds"]) if np.isfinite(cost)]
    return float(np.mean(means)) if means else np.nan
