"""What was evaluated, as rows: for a DataFrame, for files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.inputs import check_target

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    import pandas as pd

COMPLETE, FAIL, RUNNING = "COMPLETE", "FAIL", "RUNNING"
COLUMNS = ("number", "state", "value")  # before the parameters
FORMATS = (".csv", ".json", ".parquet")


class Record(NamedTuple):
    """One evaluation: its number in the order of asking, its state (Optuna's words), value, point and message."""

    number: int
    state: str
    value: float | None
    params: dict[str, Any]  # the point
    message: str = ""


def last_failure(records: Iterable[Record]) -> str:
    """The message of the last failed evaluation among the records."""
    messages = [record.message for record in records if record.state == FAIL]
    return (messages[-1] if messages else "") or "no message"


def to_frame(records: Sequence[Record], names: Iterable[str] | None = None, *, messages: bool = True) -> pd.DataFrame:
    """The records as a table: number, state, value, the parameters (`names`; None: all that occur), and the message.

    A parameter that is called like one of the other columns appears as `param:` and its name.
    """
    import pandas as pd

    names = list(dict.fromkeys(name for record in records for name in record.params) if names is None else names)
    reserved = {*COLUMNS, "message"} if messages else set(COLUMNS)
    columns: dict[str, list[Any]] = {key: [getattr(record, key) for record in records] for key in COLUMNS}
    frame = pd.DataFrame({**columns, "value": pd.Series(columns["value"], dtype=float)})
    parameters = {
        f"param:{name}" if name in reserved else name: pd.Series([record.params.get(name) for record in records])
        for name in names
    }
    notes = {"message": [record.message for record in records]} if messages else {}
    return pd.concat([frame, pd.DataFrame({**parameters, **notes}, index=frame.index)], axis=1)


def check_format(path: str | os.PathLike[str]) -> None:
    """ValueError if `write` does not know the suffix of this path."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: the file name must end in one of {', '.join(FORMATS)}.")


def write(records: Sequence[Record], path: str | os.PathLike[str], names: Iterable[str] | None = None) -> None:
    """Write the records to a path: CSV, JSON (one record per line of a list) or Parquet, by suffix.

    Columns: number, state, value and the parameters (`names`; None: all that occur).

    Floats are written so that they read back exactly.
    """
    check_format(path)
    check_target(path)
    frame = to_frame(records, names, messages=False)
    target = Path(path)
    match target.suffix.lower():
        case ".csv":
            frame.to_csv(target, index=False)
        case ".json":
            import json

            rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
            target.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
        case _:
            from compbo.extras import load_optional

            load_optional("pyarrow", "study")
            frame.to_parquet(target, index=False)
