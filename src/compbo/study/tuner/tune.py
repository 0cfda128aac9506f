"""The paper's first phase: Bayesian optimisation of every maximizer's hyperparameters, 33 configurations each.

A problem is a task x acquisition x maximizer of the grid. A configuration is judged by the final regret of a cell with
a seed that is not reported (`judges.py`): every configuration is a stored cell, and an interrupted tuning goes on
where it stopped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.study.engine.driver import drive
from compbo.study.results import schema
from compbo.study.tuner.judges import judging_cells
from compbo.study.tuner.problem import TuningProblem
from compbo.study.tuner.records import TuningKey, TuningRecord, key_of, read_record, save_record
from compbo.study.tuner.source import TuningSource
from compbo.study.tuner.tuned_file import is_tunable, write_tuned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.engine.pools import Pool
    from compbo.study.results import Store
    from compbo.study.results.survey import Survey

CONFIGURATIONS = 33  # of the paper


class TuneSummary(NamedTuple):
    """What a call of `tune_study` did.

    Args:
        problems: that were solved.
        run: cells that it has run.
        failed: of these.
        unsolved: problems without a configuration that came to its end.
        path: the file with the best configurations.
    """

    problems: int
    run: int
    failed: int
    unsolved: list[TuningKey]
    path: Path


def tune_study(
    cells: Sequence[Cell],
    store: Store,
    make_pool: Callable[[], Pool],
    *,
    configurations: int = CONFIGURATIONS,
    held_out: bool = False,
    show: bool | None = None,
) -> TuneSummary:
    """Tune for every task, acquisition and maximizer among the cells, going on where an earlier call stopped.

    Args:
        cells: of them the first of every task, acquisition and maximizer counts; none of them is run.
        store: the results folder.
        make_pool: makes what runs the cells, once the folder is locked.
        configurations: how many are judged per problem.
        held_out: judge on other tasks (`judges.held_out_tasks`), by the mean.
        show: as for `StudyProgress`.

    Returns:
        What was solved and run. A ValueError if there is nothing to tune.
    """
    with store.writing() as survey:
        problems = make_problems(cells, store, survey, configurations, held_out=held_out)
        if not problems:
            raise ValueError("None of these cells has a maximizer with hyperparameters to tune.")
        run, failed = drive(TuningSource(problems, store), store, make_pool, survey, show=show)
        entries = {problem.key: _entry(problem) for problem in problems}
        path = write_tuned(store, entries.values(), held_out=held_out)
    unsolved = [key for key, entry in entries.items() if entry is None]
    return TuneSummary(len(problems) - len(unsolved), run, failed, unsolved, path)


def make_problems(
    cells: Iterable[Cell], store: Store, survey: Survey, configurations: int, *, held_out: bool
) -> list[TuningProblem]:
    """The problems of a grid: one per task, acquisition and maximizer that has something to tune.

    Args:
        cells: of the grid.
        store: the results folder; it must be locked.
        survey: of the folder.
        configurations: how many are judged per problem.
        held_out: judge on other tasks.

    Returns:
        The problems, with what was judged before; the records of all of them are in the folder.
    """
    found: dict[TuningKey, Cell] = {}
    for cell in cells:
        if is_tunable(cell):
            found.setdefault(key_of(cell), cell)
    judges = {key: judging_cells(cell, held_out=held_out) for key, cell in found.items()}
    records = [TuningRecord(cell, judges[key], configurations) for key, cell in found.items()]
    return [_resumed(record, store, survey) for record in records]


def _resumed(record: TuningRecord, store: Store, survey: Survey) -> TuningProblem:
    """The problem with what was judged before; its record is written, for `status` to count."""
    earlier = read_record(store, record)
    if earlier is not None:
        record = replace(record, history=_still_true(earlier.history, survey))
    if record != earlier:
        save_record(store, record)
    return TuningProblem(record)


def _still_true(history: tuple[dict[str, Any], ...], survey: Survey) -> tuple[dict[str, Any], ...]:
    """The history up to the first configuration that the stored cells no longer agree with.

    A cell was retried with success, or is gone (its file was damaged and set aside). That configuration is judged again
    from its cells, and those that are gone are run again; the configurations after it may be other ones.
    """
    for number, entry in enumerate(history):
        found = [survey.stored.get(key) for key in entry["cells"]]
        succeeded = all(stored is not None and stored.status == schema.DONE for stored in found)
        if None in found or succeeded != (entry["objective"] is not None):
            return history[:number]
    return history


def _entry(problem: TuningProblem) -> dict[str, Any] | None:
    """What is written down of a tuned problem; None if all its configurations failed."""
    best = problem.best()
    if best is None:
        return None
    return {
        **problem.key._asdict(),
        "hyperparameters": best["hyperparameters"],
        "objective": best["objective"],
        "configurations": len(problem.record.history),
        "held_out": problem.record.held_out,
        "judged_on": sorted({cell.task for cell in problem.record.judges}),
        "seeds": sorted({cell.seed for cell in problem.record.judges}),
    }
