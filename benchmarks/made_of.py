"""A picture names the results that it was drawn from, so that a test sees when it is old."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

KEY = "Description"  # of the metadata of PNG and SVG files


def made_of(*sources: Path | str) -> str:
    """What a picture says of its sources.

    Args:
        sources: files, or numbers as text.

    Returns:
        The same for the same contents, another line for others.
    """
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.encode() if isinstance(source, str) else source.read_bytes())
    return f"made of results {digest.hexdigest()[:16]}"


def is_made_of(picture: Path, *sources: Path | str) -> bool:
    """Whether the picture was drawn from what these files hold now."""
    return made_of(*sources).encode() in picture.read_bytes()
