"""`python -m compbo.maximizers [--write] FILE ...`: is the catalogue's table in these documents up to date?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from compbo.maximizers.catalogue.table import renewed

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Check that the documents show the catalogue as it is, or write it into them; 1 if one is out of date."""
    parser = argparse.ArgumentParser(prog="python -m compbo.maximizers", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="documents with catalogue markers")
    parser.add_argument("--write", action="store_true", help="bring them up to date")
    options = parser.parse_args(arguments)
    stale = 0
    for path in options.files:
        text = path.read_text(encoding="utf-8")
        if renewed(text) == text:
            continue
        if options.write:
            path.write_text(renewed(text), encoding="utf-8")
        else:
            sys.stderr.write(f"{path} does not show the catalogue as it is; run with --write.\n")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
