"""What was evaluated, as rows: for a DataFrame, for files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.files import write_atomically
from compbo.inputs import check_target

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

COMPLETE, FAIL, PRUNED, RUNNING = "COMPLETE", "FAIL", "PRUNED", "RUNNING"
COLUMNS = ("number", "state", "value")  # before the parameters
TIMES = ("asked", "ended", "seconds", "traceback")  # after the message
MISSING = object()  # in the place of a parameter that an evaluation does not have
FORMATS = (".csv", ".json", ".parquet")


@dataclass(frozen=True)
class Record:
    """One evaluation of a run.

    Two records are equal if they are about the same result: when and how fast it was found does not count.

    Attributes:
        number: in the order of asking.
        state: COMPLETE, FAIL, PRUNED or RUNNING (asked for, and not told): Optuna's words.
        value: what was measured; None if there is none.
        params: the point.
        message: why it failed, or what was told beside the value.
        suggested: the point that was suggested, where another one was evaluated in its place.
        traceback: where it failed.
        asked: when it was asked for, local time, as 2026-01-31T17:00:00.
        ended: when the result was stored.
        seconds: how long the evaluation itself took, where compbo ran it.
    """

    number: int
    state: str
    value: float | None
    params: dict[str, Any]  # the point
    message: str = ""
    suggested: dict[str, Any] | None = None
    traceback: str = field(default="", compare=False, repr=False)
    asked: str = field(default="", compare=False, repr=False)
    ended: str = field(default="", compare=False, repr=False)
    seconds: float | None = field(default=None, compare=False, repr=False)


class StudyFacts(NamedTuple):
    """What a study that another program wrote with Optuna says beyond the parameters that its trials share.

    Attributes:
        records: every trial that has ended, with all its parameters.
        modelled: the places in `records` of the evaluations that an optimizer has: those in the shared space.
        running: how many trials have not ended.
        reported: the last value that a pruned trial reported, by its number, where it reported one.
        definitions: of the parameters that not every trial has, or not with one range: kind and range, in words.
        importance: share of every parameter, the largest first, as Optuna computes it; empty if it cannot.
        evaluator: Optuna's name of how.
    """

    records: Sequence[Record]
    modelled: Sequence[int]
    running: int
    reported: Mapping[int, float]
    definitions: Mapping[str, tuple[str, str]]
    importance: Mapping[str, float]
    evaluator: str


def last_failure(records: Iterable[Record]) -> str:
    """The message of the last failed evaluation among the records."""
    messages = [record.message for record in records if record.state == FAIL]
    return (messages[-1] if messages else "") or "no message"


def rows_of(records: Sequence[Record], names: Iterable[str] | None = None, *, times: bool) -> list[dict[str, Any]]:
    """One dictionary per record: number, state, value, the parameters (`names`; None: all that occur), the message.

    times: also when it was asked for and when it ended, its seconds and the traceback. A parameter that is called like
    one of the other columns appears as `param:` and its name; one that the record does not have is MISSING.
    """
    after = ("message", *TIMES) if times else ("message",)
    names = dict.fromkeys(name for record in records for name in record.params) if names is None else names
    columns = {name: f"param:{name}" if name in (*COLUMNS, *after) else name for name in names}
    return [
        {
            **{key: getattr(record, key) for key in COLUMNS},
            **{column: record.params.get(name, MISSING) for name, column in columns.items()},
            **{key: getattr(record, key) for key in after},
        }
        for record in records
    ]


def to_frame(records: Sequence[Record], names: Iterable[str] | None = None, *, times: bool = False) -> pd.DataFrame:
    """The records as a table; names: of the parameters, None for all that occur; times: with the times of each."""
    import pandas as pd

    names = list(names) if names is not None else None
    rows = rows_of(records, names, times=times)
    columns = rows[0] if rows else rows_of([Record(0, FAIL, None, {})], names, times=times)[0]
    frame = pd.DataFrame({key: pd.Series([_or_none(row[key]) for row in rows]) for key in columns})
    return frame.astype({key: float for key in ("value", "seconds") if key in frame})


def _or_none(cell: Any) -> Any:
    return None if cell is MISSING else cell


def check_format(path: str | os.PathLike[str]) -> None:
    """ValueError if `write` does not know the suffix of this path."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: the file name must end in one of {', '.join(FORMATS)}.")


def write(records: Sequence[Record], path: str | os.PathLike[str], names: Iterable[str] | None = None) -> None:
    """Write the records to a path with all that is known of them, as CSV, JSON (one per line of a list) or Parquet.

    names: of the parameters; None for all that occur.

    Floats are written so that they read back exactly. In CSV, where an empty cell is what is not there, a parameter
    with the value None is written as that word.
    """
    check_format(path)
    check_target(path)
    target = Path(path)
    match target.suffix.lower():
        case ".csv":
            write_atomically(target, _as_csv(rows_of(records, names, times=True)))
        case ".json":
            rows = ({key: _or_none(cell) for key, cell in row.items()} for row in rows_of(records, names, times=True))
            write_atomically(target, "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
        case _:
            from compbo.extras import load_optional

            load_optional("pyarrow", "study")
            to_frame(records, names, times=True).to_parquet(target, index=False)


def _as_csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0] if rows else COLUMNS)
    own = (*COLUMNS, *TIMES)
    writer.writerows(
        ["" if cell is MISSING or (cell is None and key in own) else str(cell) for key, cell in row.items()]
        for row in rows
    )
    return text.getvalue()
