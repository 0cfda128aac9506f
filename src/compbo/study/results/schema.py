"""The results table, one row per cell: every column, its type and its meaning, and a row as a file.

A cell is stored as a Parquet file of one row. The points of a large cell are rounded to `x_bits` binary digits
(`kept_bits`): the paper's 4060 experiments stay under 200 MB. `digest` is the hash of the exact points and losses, and
the cell gives them again when it is run again.
"""

from __future__ import annotations

import hashlib
import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.extras import load_optional
from compbo.study.cell import OtherVersionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

pa = load_optional("pyarrow", "study")
pq = load_optional("pyarrow.parquet", "study")

DONE, FAILED = "done", "failed"
EXACT_BITS = 52
FEWEST_BITS = 8
POINTS_BYTES = 24_000
DICTIONARY_BITS = 11  # up to here a dictionary of the grid's values is the shortest coding


class Column(NamedTuple):
    """A column of the table.

    Args:
        name: of the column.
        type: PyArrow's.
        about: what it holds.
        measured: whether it depends on the machine and the moment, not on the cell alone.
    """

    name: str
    type: Any
    about: str
    measured: bool = False


_TEXT, _WHOLE, _REAL, _SHORT = pa.string(), pa.int64(), pa.float64(), pa.float32()
_REALS, _SHORTS, _WHOLES, _TEXTS = pa.list_(_REAL), pa.list_(_SHORT), pa.list_(_WHOLE), pa.list_(_TEXT)

COLUMNS = (
    Column("cell", _TEXT, "hash of the definition; the name of the file"),
    Column("definition", _TEXT, "the cell as canonical JSON: everything that determines it"),
    Column("task", _TEXT, "spec of the black box"),
    Column("dimension", _WHOLE, "d, dimensions of the unit cube"),
    Column("kind", _TEXT, "kind of method: maximizer, a baseline or a peer"),
    Column("acquisition", _TEXT, "ei, pi, sr, ucb, ...; empty for methods without one"),
    Column("optimiser", _TEXT, "the maximizer, or the kind of method"),
    Column("hyperparameters", _TEXT, "of the maximizer, as JSON"),
    Column("seed", _WHOLE, "seed; the initial design depends on task and seed only"),
    Column("batch", _WHOLE, "q, points per acquisition step"),
    Column("steps", _WHOLE, "acquisition steps"),
    Column("initial", _WHOLE, "points of the initial design"),
    Column("status", _TEXT, "done or failed"),
    Column("error", _TEXT, "why it failed, in one line; empty if it did not", measured=True),
    Column("traceback", _TEXT, "where it failed; empty if it did not", measured=True),
    Column("digest", _TEXT, "SHA-256 of the exact points and losses: equal digests, bit-equal runs"),
    Column(
        "x", _REALS, "every evaluated point in the unit cube, row after row: n times d numbers, n = initial + steps q"
    ),
    Column("x_bits", _WHOLE, "binary digits kept of x; 52 is exact"),
    Column("loss", _REALS, "the n losses; NaN where the evaluation failed"),
    Column("true_loss", _REALS, "the n losses without noise, where the task is noisy and knows them"),
    Column("evaluation_errors", _TEXTS, "'i: message' of every failed evaluation i, counted from 0"),
    Column(
        "floor", _REAL, "the smallest loss there is: the optimum, or the best of a large random search; NaN: unknown"
    ),
    Column("floor_kind", _TEXT, "optimum, reference or unknown"),
    Column("best", _REALS, "smallest loss seen after the initial design and after every step: steps + 1 numbers"),
    Column("regret", _REALS, "(noiseless) loss of that best point minus floor; NaN without a floor"),
    Column("generalisation", _REALS, "loss of that best point on held-out data; empty where there is none"),
    Column("best_x", _REALS, "the best point, exact, in the unit cube"),
    Column("acquisition_value", _REALS, "per step: acquisition value reached, on a common sample; NaN if unknown"),
    Column("acquisition_gain", _SHORTS, "per step: the same minus that of the best raw batch"),
    Column("acquisition_error", _SHORTS, "per step: standard error of the value, over independent scrambles"),
    Column("spread", _SHORTS, "per step: standard deviation of the restarts' end values"),
    Column("ascent_steps", _WHOLES, "per step: steps of the maximizer"),
    Column("jitter", _SHORTS, "per step: largest relative jitter of a Cholesky factor"),
    Column("replaced", _WHOLES, "per step: suggestions replaced because they repeated an earlier point"),
    Column("verdict", _TEXTS, "per step: converged, still climbing, did not move, flat or degraded"),
    Column("reason", _TEXTS, "per step: the verdict in words"),
    Column("ask_seconds", _SHORTS, "per step: the whole suggestion", measured=True),
    Column("fit_seconds", _SHORTS, "per step: fit of the surrogate", measured=True),
    Column("start_seconds", _SHORTS, "per step: raw batches and the choice of start points", measured=True),
    Column("maximise_seconds", _SHORTS, "per step: maximisation of the acquisition function", measured=True),
    Column("evaluate_seconds", _SHORTS, "per step: the black box", measured=True),
    Column(
        "peak_memory", _WHOLES, "per step: largest resident memory of the process during the ask, bytes", measured=True
    ),
    Column("seconds", _REAL, "wall clock of the cell", measured=True),
    Column("cpu_seconds", _REAL, "processor time of the cell", measured=True),
    Column("started", _TEXT, "when, UTC, ISO 8601", measured=True),
    Column("threads", _WHOLE, "BLAS and PyTorch threads of the cell", measured=True),
    Column("versions", _TEXT, "of Python, compbo and what it computes with, as JSON", measured=True),
    Column("machine", _TEXT, "host, platform, processor, cores, memory, as JSON", measured=True),
)
NAMES = tuple(column.name for column in COLUMNS)
TELEMETRY = (  # per step, what a method says of its ask: the names are those of the fields of `compbo.Telemetry`
    *("acquisition_value", "acquisition_gain", "acquisition_error", "spread", "ascent_steps", "jitter", "replaced"),
    *("verdict", "reason", "fit_seconds", "start_seconds", "maximise_seconds"),
)
DETERMINED = tuple(column.name for column in COLUMNS if not column.measured)
SCHEMA = pa.schema([pa.field(c.name, c.type, metadata={"about": c.about}) for c in COLUMNS])
_PLAIN_SCHEMA = SCHEMA.remove_metadata()
_SPLIT = {f"{c.name}.list.element": "BYTE_STREAM_SPLIT" for c in COLUMNS if c.type in (_REALS, _SHORTS, _WHOLES)}
POINTS = "x.list.element"
MARK = b"compbo columns"  # a file says which columns it was written with: another version's is told from a damaged one

BULKY = ("x", "loss", "true_loss")

Row = dict[str, Any]


def telemetry_columns(asks: Sequence[Mapping[str, Any]]) -> Row:
    """The columns `TELEMETRY` of a cell.

    Args:
        asks: what its method says of every ask.

    Returns:
        The columns, with a value per ask; what a method does not say is NaN, 0 or empty.

    >>> telemetry_columns([{"verdict": "converged"}, {}])["verdict"]
    ['converged', '']
    """
    unknown = {_REALS: math.nan, _SHORTS: math.nan, _WHOLES: 0, _TEXTS: ""}
    types = {column.name: column.type for column in COLUMNS}
    return {name: [ask.get(name, unknown[types[name]]) for ask in asks] for name in TELEMETRY}


def rounded(x: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """Numbers of [0, 1] rounded to equidistant ones, with 0 and 1 among them.

    Args:
        x: the numbers.
        bits: there are about 2^bits equidistant ones; from 52 on nothing is rounded.

    Returns:
        The rounded numbers.

    >>> rounded(np.array([0.0, 0.3, 1.0]), 1).tolist()
    [0.0, 0.0, 1.0]
    """
    if bits >= EXACT_BITS:
        return x
    gaps = 2.0**bits - 1.0 if bits <= DICTIONARY_BITS else 2.0**bits  # a dictionary has 2^bits entries
    return np.asarray(np.round(x * gaps) / gaps)


def kept_bits(numbers: int) -> int:
    """How many binary digits of each coordinate are kept.

    All of them up to 24 kB of coordinates; for more coordinates what fits into 24 kB, but at least 8.

    Args:
        numbers: how many coordinates there are.

    Returns:
        The number of digits.

    >>> kept_bits(3000), kept_bits(515 * 16), kept_bits(515 * 120)
    (52, 23, 8)
    """
    return EXACT_BITS if 8 * numbers <= POINTS_BYTES else max(FEWEST_BITS, min(EXACT_BITS, 8 * POINTS_BYTES // numbers))


def digest(x: NDArray[np.float64], losses: NDArray[np.float64]) -> str:
    """The hash of a run: equal hashes, bit-equal runs.

    Args:
        x: the exact points.
        losses: the exact losses.

    Returns:
        32 hexadecimal digits.
    """
    return hashlib.sha256(x.tobytes() + b"|" + losses.tobytes()).hexdigest()[:32]


def _fingerprint(columns: Any) -> bytes:
    """Hash of the names and types of the columns."""
    types = [(field.name, field.type.id, getattr(field.type, "value_type", field.type).id) for field in columns]
    return hashlib.sha256(repr(types).encode()).hexdigest()[:16].encode()


def to_bytes(row: Row) -> bytes:
    """A row as a Parquet file.

    Args:
        row: values by column; columns that it lacks are null, and one that does not exist is a ValueError.

    Returns:
        What is written to the disk.

    >>> from_bytes(to_bytes({"task": "levy-2", "seed": 3}))["seed"]
    3
    """
    unknown = set(row) - set(NAMES)
    if unknown:
        raise ValueError(f"Not columns of the results: {', '.join(sorted(unknown))}.")
    table = pa.Table.from_pylist([{name: row.get(name) for name in NAMES}], schema=_PLAIN_SCHEMA)
    coarse = row.get("x_bits") is not None and row["x_bits"] <= DICTIONARY_BITS
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        _PLAIN_SCHEMA,
        compression="zstd",
        compression_level=9,
        use_dictionary=[POINTS] if coarse else False,
        write_statistics=False,
        store_schema=False,
        column_encoding={name: coding for name, coding in _SPLIT.items() if not (coarse and name == POINTS)},
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({MARK: _fingerprint(_PLAIN_SCHEMA)})
    return sink.getvalue()


def from_bytes(data: bytes, leave_out: tuple[str, ...] = ()) -> Row:
    """The row of a Parquet file, which is checked as a whole.

    Args:
        data: the file; ValueError if it is not exactly what `to_bytes` writes.
        leave_out: columns that are checked but not returned.

    Returns:
        Values by column.
    """
    try:
        file = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"not a readable Parquet file ({str(error).splitlines()[0]})") from error
    if not table.schema.equals(_PLAIN_SCHEMA):
        if (file.metadata.metadata or {}).get(MARK) == _fingerprint(table.schema):
            raise OtherVersionError("it has the columns of another version of compbo")
        raise ValueError("its columns are not those of the results table")
    if table.num_rows != 1:
        raise ValueError(f"it has {table.num_rows} rows instead of one")
    row: Row = table.drop_columns(list(leave_out)).to_pylist()[0]
    return row
