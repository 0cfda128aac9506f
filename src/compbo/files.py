"""Files that are written as a whole: a reader sees the old one or the new one, not a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(
    path: str | os.PathLike[str], data: bytes | str, *, scratch: str | os.PathLike[str] | None = None
) -> None:
    """Write a file, or replace the one that is there; a crash or a power cut leaves the old file or the new one.

    Args:
        path: the file; its folder must exist.
        data: what it is to hold; text is written in UTF-8.
        scratch: the folder of the temporary file, on the same file system; None: the folder of the file.

    Raises:
        OSError: with the name of the file, if it cannot be written. The temporary file is removed.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent if scratch is None else scratch, prefix=".compbo-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data.encode() if isinstance(data, str) else data)
                file.flush()
                os.fsync(file.fileno())
            _give_usual_mode(temporary)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # and not the temporary file's name


def _give_usual_mode(path: str) -> None:
    """The permissions that a new file has here: a temporary file is readable by its owner only."""
    umask = os.umask(0)
    os.umask(umask)
    Path(path).chmod(0o666 & ~umask)


def _sync_folder(folder: Path) -> None:
    """Bring the name of the file to the disk, too; Windows cannot open a folder, and needs nothing."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
