"""What is known of the stored cells: every file is read and checked, its points left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.cell import Cell, OtherVersionError, cell_from_json
from compbo.study.results import schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class StoredCell(NamedTuple):
    """A cell whose row is stored.

    Args:
        cell: the experiment.
        status: `schema.DONE` or `schema.FAILED`.
        error: why it failed; empty if it did not.
        seconds: its wall clock.
    """

    cell: Cell
    status: str
    error: str
    seconds: float


class Survey(NamedTuple):
    """What a results folder holds.

    Args:
        stored: the stored cells by hash.
        damaged: the files that hold none, with the reason.
    """

    stored: dict[str, StoredCell]
    damaged: dict[Path, str]

    def joined(self, known: Mapping[str, StoredCell]) -> Survey:
        """The survey with cells that are stored elsewhere.

        Args:
            known: cells that are done, by hash.

        Returns:
            Both; of a cell that is in both the folder's own counts, unless it has failed there.
        """
        own = {key: stored for key, stored in self.stored.items() if stored.status == schema.DONE or key not in known}
        return self._replace(stored={**known, **own})


def checked_row(data: bytes, cell_hash: str, leave_out: tuple[str, ...] = schema.BULKY) -> schema.Row:
    """The row of a file that is whole and belongs to a cell.

    Args:
        data: the file.
        cell_hash: of the cell.
        leave_out: columns that are checked but not returned.

    Returns:
        Values by column; a ValueError that says why if the file is something else.
    """
    row = schema.from_bytes(data, leave_out)
    try:
        actual = cell_from_json(row["definition"]).hash
    except OtherVersionError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"its definition is not that of a cell ({error})") from error
    if not row["cell"] == actual == cell_hash:
        raise ValueError(f"it holds cell {actual}, not {cell_hash}")
    if row["status"] not in (schema.DONE, schema.FAILED):
        raise ValueError(f"its status is {row['status']!r}")
    return row


def stored_cell(row: schema.Row) -> StoredCell:
    """What a survey keeps of a row.

    Args:
        row: of a cell.

    Returns:
        The cell, and how it ended.
    """
    return StoredCell(cell_from_json(row["definition"]), row["status"], row["error"] or "", row["seconds"] or 0.0)
