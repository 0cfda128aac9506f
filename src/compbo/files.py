"""Files that are to be written: refused before the work is done, not after it."""

from __future__ import annotations

import os
from pathlib import Path


def check_target(path: str | os.PathLike[str]) -> None:
    """ValueError if no file can be written there."""
    target = Path(path)
    folder = target.absolute().parent
    if target.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist, create it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: you may not write into the folder {folder}, name another.")
