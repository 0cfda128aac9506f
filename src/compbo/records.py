"""What was evaluated, as rows: for a DataFrame, for files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.inputs import check_target

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

COMPLETE, FAIL, PRUNED, RUNNING = "COMPLETE", "FAIL", "PRUNED", "RUNNING"
COLUMNS = ("number", "state", "value")  # before the parameters
FORMATS = (".csv", ".json", ".parquet")


class Record(NamedTuple):
    """One evaluation: its number in the order of asking, its state (Optuna's words), value, point and message.

    The value of a pruned one is the last that it reported.
    """

    number: int
    state: str
    value: float | None
    params: dict[str, Any]
    message: str = ""


class StudyFacts(NamedTuple):
    """What a study that another program wrote with Optuna says beyond the parameters that its trials share.

    Attributes:
        records: every trial that has ended, with all its parameters.
        modelled: the places in `records` of the evaluations that an optimizer has: those in the shared space.
        running: how many trials have not ended.
        definitions: of the parameters that not every trial has, or not with one range: kind and range, in words.
        importance: share of every parameter, the largest first, as Optuna computes it; empty if it cannot.
        evaluator: Optuna's name of how.
    """

    records: Sequence[Record]
    modelled: Sequence[int]
    running: int
    definitions: Mapping[str, tuple[str, str]]
    importance: Mapping[str, float]
    evaluator: str


def last_failure(records: Iterable[Record]) -> str:
    """What the last failed evaluation said."""
    messages = [record.message for record in records if record.state == FAIL]
    return (messages[-1] if messages else "") or "no message"


def to_frame(records: Sequence[Record], names: Iterable[str] | None = None, *, messages: bool = True) -> pd.DataFrame:
    """Columns number, state, value, the parameters (`names`; None: all that occur), and the message.

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
    """ValueError if `write` would not know what to do with this file name."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: the file name must end in one of {', '.join(FORMATS)}.")


def write(records: Sequence[Record], path: str | os.PathLike[str], names: Iterable[str] | None = None) -> None:
    """Number, state, value and the parameters as CSV, JSON (one record per line of a list) or Parquet, by suffix.

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
