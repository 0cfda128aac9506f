"""Questions 3 and 4: what memory-efficient forms save and cost, and the time of compositional methods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from compbo.study.outputs.aggregate import over_black_boxes
from compbo.study.outputs.figures.pairs import all_pairs_difference, standard_me_pairs
from compbo.study.outputs.moved import that_moved
from compbo.study.outputs.page.answer import (
    MARGIN,
    TOO_FEW,
    UNDECIDED,
    Answer,
    both_ran,
    by_variant,
    decide,
    level,
    meaning,
    nothing,
    pairs_in_words,
    why_too_few,
)
from compbo.study.outputs.phrases import fixed, listed, with_interval
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from compbo.study.outputs.figures.cost import MemoryMeasurement
    from compbo.study.outputs.figures.pairs import FormPair
    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

# A compositional optimiser and the same rule without composition.
MATCHED = (("CAdam", "AdamOS-FSM"), ("Nested-MC", "Adam-FSM"), ("SCGA", "SGA-FSM"), ("NASA", "SGA-FSM"))


def memory_efficient(study: Study, measured: Sequence[MemoryMeasurement] = ()) -> Answer:
    """The answer to question 3; measured: memory of single maximisations, from `make bench ARGS=memory`."""
    question = (
        "What are the practical savings for using memory-efficient implementations of compositional acquisition "
        "functions?"
    )
    verdict, sentences = "", []
    for where, all_rows in by_variant(study):
        rows = that_moved(all_rows)  # of two that did nothing, neither costs regret
        pairs = both_ran(rows, standard_me_pairs(rows))
        if not pairs:
            continue
        found = all_pairs_difference(rows, pairs)
        said = decide(found, "they cost nothing", "they cost some regret", MARGIN)
        of_cost = {UNDECIDED: "no cost can be told", level(MARGIN): f"no cost above {MARGIN}"}
        verdict = verdict or of_cost.get(said, said)
        lead = (
            f"{where}ME minus standard in normalised final regret is {with_interval(found, 3)} on average over "
            f"{counted(len(pairs), 'optimiser')} and {counted(found.tasks, 'function')}, where all of them moved."
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
        found = ratio(rows, [(pair.second, pair.first) for pair in pairs], column)
        if found.runs:
            sentences.append(f"In {what}, ME takes {with_interval(found, 2)} times what the standard form takes.")
    return sentences


def ratio(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]], column: str) -> Estimate:
    """First over second of a per-step cost: the geometric mean over the pairs of optimisers and over tasks.

    Runs are compared as in `log_ratios`. rows: of all of them. column: of the costs.
    """
    found = over_black_boxes(log_ratios(rows, pairs, column), "log")
    return found._replace(value=np.exp(found.value), low=np.exp(found.low), high=np.exp(found.high))


def log_ratios(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]], column: str) -> pd.DataFrame:
    """The logarithm (`log`) of first over second of a per-step cost, run by run, its mean over the pairs.

    Runs are compared from the same start and on the same type of processor, those that all pairs have.

    rows: of all of them. column: of the costs.
    """
    import pandas as pd

    keys = ["task", "acquisition", "seed", "function", "dimension", "processor"]
    means = [_mean_cost(steps) for steps in rows[column]]
    costs = rows.assign(cost=means, processor=[processor_of(text) for text in rows["machine"]])
    costs = costs[costs["cost"].notna()]
    sides = []
    for first, second in pairs:
        one, other = (costs[costs["optimiser"] == name].set_index(keys)["cost"] for name in (first, second))
        sides.append((one / other).dropna().map(np.log).rename(f"{first}/{second}"))
    if not sides:
        return pd.DataFrame(columns=[*keys, "log"])
    return pd.concat(sides, axis=1).dropna().mean(axis=1).rename("log").reset_index()


def processor_of(machine: str) -> str:
    """The type of the processor in the `machine` of a run."""
    return str(json.loads(machine).get("processor", "")) if machine else ""


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
        pairs = [pair for pair in MATCHED if ratio(rows, [pair], "maximise_seconds").runs]
        found = ratio(rows, pairs, "maximise_seconds")
        if not found.runs:
            continue
        said = decide(found._replace(low=np.log(found.low), high=np.log(found.high)), "no", "yes")
        lead = (
            f"With the rule the same, one maximisation takes {with_interval(found, 2)} times as long with composition "
            f"as without (geometric mean of {counted(len(pairs), 'pair')}, over {counted(found.tasks, 'function')} "
            "that all of them ran, on the same type of processor, timed in the runs); the paper: 1.5 to 2 times."
        )
        few = [why_too_few(found)] if said == TOO_FEW else []
        return Answer(question, said, [lead, *few, *_growth(rows, pairs)])
    return nothing(
        question, "finished runs of a first-order compositional optimiser and of its rule without composition"
    )


def _growth(rows: pd.DataFrame, pairs: list[tuple[str, str]]) -> list[str]:
    """The ratio of every pair, dimension by dimension."""
    dimensions = sorted(set(rows["dimension"]))
    words = []
    for pair in pairs:
        found = [(d, ratio(rows[rows["dimension"] == d], [pair], "maximise_seconds")) for d in dimensions]
        known = [f"{with_interval(one, 2)} in {d}D" for d, one in found if one.runs]
        words.append(f"{pair[0]} / {pair[1]} {listed(known)}")
    alone = f"All runs are in {dimensions[0]} dimensions: how the time grows cannot be seen."
    return [f"One by one: {'; '.join(words)}.", *([alone] if len(dimensions) < 2 else [])]
