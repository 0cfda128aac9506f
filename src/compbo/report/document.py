"""One HTML file that opens without other files: slots filled, data embedded, scripts allowed by their hash."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.files import write_atomically
from compbo.inputs import check_target

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def filled(template: str, slots: Mapping[str, str]) -> str:
    """The template with every `{{slot}}` replaced."""
    return _SLOT.sub(lambda match: slots[match[1]], template)


def script_slots(script: str, data: Any) -> dict[str, str]:
    """The slots policy, script, plotly and data of a template whose charts are drawn by a script."""
    from plotly.offline import get_plotlyjs

    plotly = unix_lines(get_plotlyjs())
    return {"policy": _policy(script, plotly), "script": script, "plotly": plotly, "data": embedded(data)}


def embedded(data: Any) -> str:
    """The data as JSON that can stand inside a script element: pure ASCII, no markup, null for what is not finite."""
    text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def finite(node: Any) -> Any:
    """The same data (any node of it) with None for numbers that JSON does not have."""
    if isinstance(node, dict):
        return {key: finite(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [finite(value) for value in node]
    return None if isinstance(node, float) and not math.isfinite(node) else node


def _policy(*scripts: str) -> str:
    """Only these scripts may run, and nothing may be fetched: no slip in escaping could do harm."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{code}'" for code in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def resource(package: str, name: str) -> str:
    """The text of a file of a package, by its name."""
    return unix_lines(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def unix_lines(text: str) -> str:
    """The text with line ends as a browser reads them, or the hashes in the policy would not fit."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_document(path: str | os.PathLike[str], page: str) -> Path:
    """The path of the page, after it was written there; a file already there is replaced at once."""
    check_target(path)
    write_atomically(path, page.encode("utf-8", "xmlcharrefreplace"))
    return Path(path)
