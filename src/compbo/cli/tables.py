"""What the commands of a run by hand show: a batch, what was taken from a file, and the state of a run."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from compbo.console import BAD_INPUT, CommandError, out, quote, say, wide
from compbo.records import FAIL
from compbo.strict_json import dumps
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from compbo.bo.numbered_point import NumberedPoint
    from compbo.bo.optimizer import Optimizer
    from compbo.evaluation import Evaluation
    from compbo.laboratory.ask import Asked
    from compbo.laboratory.results import Filled, Results, SheetError
    from compbo.laboratory.tell import Told
    from compbo.records import Record

PARAMETERS_SHOWN = 12
FAILURES_SHOWN = 8
REMEDIES = {
    "value": "--value names the column of the values, if it is not called value.",
    "replace": "--replace corrects what was told before.",
}


def print_asked(asked: Asked) -> None:
    """The points with their numbers, what the model expects there, and the verdict."""
    more = {}
    if asked.predicted:
        more["predicted mean"] = [f"{prediction.mean:.6g}" for prediction in asked.predicted]
        more["deviation"] = [f"{prediction.deviation:.3g}" for prediction in asked.predicted]
    print_points(asked.points, more)
    wide().print(f"verdict  {asked.telemetry.verdict} ({asked.telemetry.reason})", markup=False)


def print_status(optimizer: Optimizer, records: Sequence[Record]) -> None:
    """Print what the records say: what was told, what is pending, the best so far, what failed."""
    failed = [record for record in records if record.state == FAIL]
    rows = _Rows()
    rows.add("direction", optimizer.settings.direction)
    told, pending, best = len(optimizer.evaluations), len(optimizer.pending), optimizer.best
    rows.add("evaluations", f"{told} told, {len(failed)} of them failed; {pending} pending")
    if best is not None:
        rows.add("best value", f"{best.value!r} (trial {best.number})")
        for name, value in list(best.params.items())[:PARAMETERS_SHOWN]:
            rows.add(f"  {name}", str(value))
        if len(best.params) > PARAMETERS_SHOWN:
            rows.add("  …", f"{len(best.params) - PARAMETERS_SHOWN} more parameters")
    if optimizer.telemetry:
        rows.add("last ask", f"{optimizer.telemetry[-1].verdict} ({optimizer.telemetry[-1].reason})")
    for record in failed[-FAILURES_SHOWN:]:
        rows.add("failed", f"trial {record.number}: {record.message or 'no message'}")
    wide().print(rows.table)
    if optimizer.pending:
        wide().print(f"\n{counted(len(optimizer.pending), 'pending point')}:")
        print_points(optimizer.pending)
    if failed and failed[-1].traceback:
        quote(f"\nTrial {failed[-1].number} failed here:\n{failed[-1].traceback}")


def status_as_json(optimizer: Optimizer, records: Sequence[Record]) -> str:
    """The records as JSON, for programs."""
    failed = [record for record in records if record.state == FAIL]
    best, asks = optimizer.best, optimizer.telemetry
    return dumps(
        {
            "direction": optimizer.settings.direction,
            "evaluations": len(optimizer.evaluations),
            "failed": len(failed),
            "best": None if best is None else {"number": best.number, "value": best.value, "params": best.params},
            "pending": [{"number": point.number, "params": dict(point)} for point in optimizer.pending],
            "failures": [{"number": r.number, "message": r.message, "traceback": r.traceback} for r in failed],
            "last_ask": {"verdict": str(asks[-1].verdict), "reason": asks[-1].reason} if asks else None,
        }
    )


class _Rows:
    """A table of names and what there is to say about them; nothing in it is markup."""

    def __init__(self) -> None:
        from rich.table import Table

        self.table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))

    def add(self, name: str, text: str) -> None:
        """One row."""
        from rich.text import Text

        self.table.add_row(Text(name), Text(text))


def print_points(points: Sequence[NumberedPoint], more: Mapping[str, Sequence[Any]] = MappingProxyType({})) -> None:
    """One line per point: its number, its parameters (some, if there are very many), and more columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    names = list(points[0])
    shown = names[:PARAMETERS_SHOWN]
    rest = len(names) - len(shown)
    for column in ("number", *shown, *([f"… {counted(rest, 'more parameter')}"] if rest else ()), *more):
        table.add_column(Text(column), justify="right", overflow="fold")
    for row, point in enumerate(points):
        further = [*([""] if rest else ()), *(column[row] for column in more.values())]
        table.add_row(*(Text(str(cell)) for cell in (point.number, *(point[name] for name in shown), *further)))
    wide().print(table)


def nothing_taken(error: SheetError) -> CommandError:
    """The error of a sheet: what is wrong with it, and the options that help."""
    remedies = {complaint.remedy for complaint in error.complaints}
    hints = [hint for option, hint in REMEDIES.items() if option in remedies]
    return CommandError("\n".join([str(error), *hints]), BAD_INPUT)


def print_taken(told: Told, results: Results, file: Path) -> None:
    """One line for every kind of row of the file."""
    for evaluation in told.taken:
        result = "failed" if evaluation.value is None else repr(evaluation.value)
        notes = [
            *(f"{name} {evaluation.params[name]}, not {old}" for name, old in _changed_parameters(evaluation).items()),
            *([evaluation.message] if evaluation.message not in ("", "no value") else ()),
        ]
        out.print(f"trial {evaluation.number}: {result}" + f"  ({'; '.join(notes)})" * bool(notes), markup=False)
    say(f"{counted(len(told.taken), 'result')} taken from {file}.")
    for old, new in told.replaced.items():
        say(f"The result of trial {old} is corrected: it is trial {new} from now on.")
    if told.known:
        say(f"Known already, and not taken again: {_lines(told.known)}.")
    if results.empty:
        say(f"Without a value, and left out: {_lines(results.empty)}.")
    if results.unused:
        say(f"Note: nobody reads {counted(len(results.unused), 'column')} ({', '.join(results.unused)}).")


def _changed_parameters(evaluation: Evaluation) -> dict[str, Any]:
    """What was suggested, where something else was set."""
    suggested = evaluation.suggested or {}
    return {name: value for name, value in suggested.items() if evaluation.params[name] != value}


def _lines(rows: Sequence[Filled]) -> str:
    return f"line{'s' if len(rows) > 1 else ''} {listed(row.line for row in rows)}"


def listed(numbers: Iterable[int]) -> str:
    """Numbers with commas between them."""
    return ", ".join(str(number) for number in numbers)
