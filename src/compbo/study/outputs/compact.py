"""The compact table: what the outputs need of every cell, in one small Parquet file.

Tables, figures and page are made of this table alone. It is read from a compact file or reduced from a results folder;
both give the same. Left out are the points and losses of single evaluations, tracebacks and host names.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.extras import load_optional
from compbo.study.outputs.source import DONE, OtherVersionError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = b"1"
MARK = b"compbo compact results"

_KEPT = (
    *("cell", "definition", "task", "dimension", "kind", "acquisition", "optimiser", "hyperparameters"),
    *("seed", "batch", "steps", "initial", "status", "error", "floor", "floor_kind"),
    *("best", "regret", "generalisation", "ask_seconds", "maximise_seconds", "peak_memory"),
    *("seconds", "cpu_seconds", "started", "threads", "versions"),
)
_NEEDED = ("verdict", "acquisition_value", "evaluation_errors", "machine")
SOURCE_COLUMNS = (*_KEPT, *_NEEDED)  # of the full table
COLUMNS = (*_KEPT, "verdicts", "first_acquisition_value", "failed_evaluations", "machine")
ORDER = ["task", "dimension", "acquisition", "optimiser", "hyperparameters", "seed", "cell"]
LISTS = {
    **dict.fromkeys(("best", "regret", "generalisation"), np.float64),
    **dict.fromkeys(("ask_seconds", "maximise_seconds"), np.float32),
    "peak_memory": np.int64,
}
_WHOLE = ("dimension", "seed", "batch", "steps", "initial", "threads", "failed_evaluations")
_REAL = ("floor", "seconds", "cpu_seconds", "first_acquisition_value")


def compact(table: pd.DataFrame) -> pd.DataFrame:
    """The compact table of a full one: one row per cell, sorted, lists as arrays (empty where there is none)."""
    kept = table[list(_KEPT)].copy()
    kept["verdicts"] = [_counts(words) for words in table["verdict"]]
    kept["first_acquisition_value"] = [_first(values) for values in table["acquisition_value"]]
    kept["failed_evaluations"] = [0 if errors is None else len(errors) for errors in table["evaluation_errors"]]
    kept["machine"] = [_without_host(text) for text in table["machine"]]
    return _settled(kept)


def _settled(table: pd.DataFrame) -> pd.DataFrame:
    """The table with fixed types, from a file and from a folder alike."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = table[name]
        if name in LISTS:
            made = np.empty(len(table), dtype=object)
            for i, value in enumerate(values):
                made[i] = np.asarray([] if value is None else value, dtype=LISTS[name])
            columns[name] = made
        elif name in _WHOLE:
            columns[name] = values.fillna(0).astype(np.int64).to_numpy()
        elif name in _REAL:
            columns[name] = values.astype(np.float64).to_numpy()
        else:
            columns[name] = values.fillna("").astype(object).to_numpy()
    return pd.DataFrame(columns, columns=list(COLUMNS)).sort_values(ORDER, ignore_index=True)


def _counts(words: Any) -> str:
    """How often each verdict was given, as JSON in alphabetical order; empty words are no verdict."""
    found, counts = np.unique([word for word in ([] if words is None else words) if word], return_counts=True)
    return json.dumps({str(word): int(count) for word, count in zip(found, counts, strict=True)})


def _first(values: Any) -> float:
    return float(values[0]) if values is not None and len(values) else float("nan")


def _without_host(text: str | None) -> str:
    """The machine as it may be published."""
    return json.dumps({key: value for key, value in json.loads(text or "{}").items() if key != "host"})


def _schema() -> Any:
    pa = load_optional("pyarrow", "study")
    lists = {np.float64: pa.list_(pa.float64()), np.float32: pa.list_(pa.float32()), np.int64: pa.list_(pa.int64())}
    kinds = {
        **dict.fromkeys(COLUMNS, pa.string()),
        **dict.fromkeys(_WHOLE, pa.int64()),
        **dict.fromkeys(_REAL, pa.float64()),
        **{name: lists[kind] for name, kind in LISTS.items()},
    }
    return pa.schema([(name, kinds[name]) for name in COLUMNS])


def to_bytes(table: pd.DataFrame) -> bytes:
    """A compact table as a Parquet file; the same table gives the same bytes."""
    pa, pq = load_optional("pyarrow", "study"), load_optional("pyarrow.parquet", "study")
    arrow = pa.Table.from_pandas(table[list(COLUMNS)], schema=_schema(), preserve_index=False)
    texts = [name for name in COLUMNS if name not in (*LISTS, *_REAL)]
    sink = io.BytesIO()
    pq.write_table(
        arrow.replace_schema_metadata({MARK: FORMAT}),
        sink,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in texts if name not in ("cell", "definition")],
        column_encoding={f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in LISTS},
        write_statistics=False,
    )
    return sink.getvalue()


def from_bytes(data: bytes, name: str = "The file") -> pd.DataFrame:
    """The compact table in the data of a Parquet file; ValueError, with the name of the file, if it is none."""
    pa, pq = load_optional("pyarrow", "study"), load_optional("pyarrow.parquet", "study")
    try:
        # Neither Python's files nor threads: what reads them may still be at it when an error ends the program.
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        version = (file.schema_arrow.metadata or {}).get(MARK)
        arrow = file.read(use_threads=False) if version == FORMAT else None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{name} is not a readable Parquet file ({str(error).splitlines()[0]}).") from error
    if version is None:
        raise ValueError(
            f"{name} is not a compact results file; `compbo study export` writes one, if asked for a compact one."
        )
    if arrow is None or list(arrow.schema.names) != list(COLUMNS):
        raise OtherVersionError(f"{name} was written by another version of compbo; use that version, or export again.")
    return _settled(arrow.to_pandas())


def finished(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table whose cells were done."""
    return table[table["status"] == DONE]
