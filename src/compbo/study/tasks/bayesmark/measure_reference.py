"""Measure the reference losses of the tuning tasks by random search.

    python -m compbo.study.tasks.bayesmark.measure_reference 'rf-*' --evaluations 1000

Every point of a task is drawn from a random stream of its own, and every loss is appended to a log as soon as it is
known: a second run goes on where the first one stopped, and more evaluations extend what was measured before.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import io
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from compbo.files import write_atomically
from compbo.seeds import stream
from compbo.study.tasks.bayesmark.reference import (
    COLUMNS,
    COMMAND,
    ReferenceLosses,
    read_table,
    reference_from,
    table_path,
)
from compbo.study.tasks.registry import get_task, list_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.tasks.task import Task

log = logging.getLogger(__name__)


class Measurement(NamedTuple):
    """One line of the log.

    Args:
        task: the spec.
        number: which random point.
        loss: there; None if the evaluation failed.
        error: why it failed.
    """

    task: str
    number: int
    loss: float | None
    error: str = ""


def measure(task: Task, number: int) -> Measurement:
    """Evaluate a random point.

    Args:
        task: what is evaluated.
        number: which random point; the same number is the same point.

    Returns:
        The loss, or the error in its place.
    """
    point = task.space.sample(1, stream(0, "reference", task.name, number))[0]
    try:
        return Measurement(task.name, number, task.evaluate(point))
    except (ValueError, FloatingPointError, ArithmeticError) as error:  # scikit-learn's ways to refuse a point
        return Measurement(task.name, number, None, f"{type(error).__name__}: {error}".replace("\n", " "))


def read_log(path: Path) -> dict[str, dict[int, Measurement]]:
    """Everything measured so far; a line cut short by a crash is taken out of the log.

    Args:
        path: of the log.

    Returns:
        The measurements by task and number.
    """
    found: dict[str, dict[int, Measurement]] = {}
    if not path.exists():
        return found
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    for task, number, loss, error in csv.reader(whole.splitlines()):
        found.setdefault(task, {})[int(number)] = Measurement(task, int(number), float(loss) if loss else None, error)
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return found


def append(path: Path, measured: Measurement) -> None:
    """Add a line to the log, before the next evaluation starts.

    Args:
        path: of the log.
        measured: the line.
    """
    with path.open("a", newline="", encoding="utf-8") as file:
        loss = "" if measured.loss is None else repr(measured.loss)
        csv.writer(file, lineterminator="\n").writerow((measured.task, measured.number, loss, measured.error))


def search(
    task: Task, evaluations: int, done: dict[int, Measurement], path: Path, seconds: float
) -> dict[int, Measurement]:
    """Random search; it stops early if the median of its first three points takes too long.

    Args:
        task: what is measured.
        evaluations: how many points, those of `done` included.
        done: what was measured before, by number.
        path: the log.
        seconds: the most processor time that a point may take.

    Returns:
        All measurements, by number.
    """
    entries, took = dict(done), list[float]()
    for number in range(evaluations):
        if number in entries:
            continue
        start = time.process_time()
        entries[number] = measure(task, number)
        took.append(time.process_time() - start)
        append(path, entries[number])
        if len(took) == 3 and sorted(took)[1] > seconds:
            log.info("%s: more than %g s per evaluation, left out", task.name, seconds)
            break
    return entries


def reference_of(task: str, entries: dict[int, Measurement], evaluations: int) -> ReferenceLosses | None:
    """The row of a task in the table.

    Args:
        task: the spec.
        entries: its measurements by number.
        evaluations: how many are wanted.

    Returns:
        The row, or None if some are missing or all failed.
    """
    if any(number not in entries for number in range(evaluations)):
        return None
    losses = [entry.loss for entry in entries.values() if entry.loss is not None]
    return reference_from(task, losses, len(entries) - len(losses)) if losses else None


def write_table(path: Path, table: dict[str, ReferenceLosses]) -> None:
    """Write the whole table at once: a reader sees the old one or the new one.

    Args:
        path: of a CSV file.
        table: rows by task.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(table[task].row() for task in sorted(table))
    write_atomically(path, text.getvalue())


def measure_references(arguments: Sequence[str] | None = None) -> None:
    """The command line of this module.

    Args:
        arguments: those of the process if None.
    """
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("tasks", nargs="*", default=["*"], help="tasks or patterns such as 'knn-*' (default: all)")
    parser.add_argument("--evaluations", type=int, default=1000, help="random points per task (default: 1000)")
    parser.add_argument("--log", type=Path, default=Path("reference-log.csv"), help="where every loss is kept")
    parser.add_argument("--output", type=Path, default=table_path(), help="the table (default: the package's own)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="leave out tasks slower than this per point"
    )
    options = parser.parse_args(arguments)
    if options.evaluations < 1:
        parser.error("--evaluations must be at least 1")
    names = [name for name in list_tasks("tuning") if any(fnmatch.fnmatch(name, p) for p in options.tasks)]
    if not names:
        parser.error(f"no tuning task matches {' '.join(options.tasks)}")
    done, table = read_log(options.log), read_table(options.output)
    for name in names:
        entries = search(get_task(name), options.evaluations, done.get(name, {}), options.log, options.seconds)
        row = reference_of(name, entries, options.evaluations)
        if row is not None:
            table[name] = row
            write_table(options.output, table)
            log.info("%s: best %g of %d, %d failed", name, row.best, row.evaluations, row.failures)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    measure_references()
