"""The page "In the laboratory": its files are written, its commands run, and its outputs are what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "laboratory.md"
BLOCK = re.compile(
    r"(?P<before>[^\n]*)\n+(?P<varies><!-- what the model suggests may differ -->\n)?"
    r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMPBO = f"""#!/bin/sh
exec {sys.executable} -c 'import sys; sys.argv[0] = "compbo"; from compbo.cli import main; main()' "$@"
"""


def plain(text: str, *, digits: bool) -> list[str]:
    """The lines without what the eye does not see; if wished, without numbers, the layout they make, and verdicts."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if digits:
        return lines
    bare = [" ".join(re.sub(r"[\d.]+", "#", line).split()) for line in lines]
    return [re.sub(r"^(verdict|last ask) .+", r"\1", line) for line in bare]


def test_the_page_is_true(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "compbo").write_text(COMPBO)
    (tmp_path / "bin" / "compbo").chmod(0o755)
    folder = tmp_path / "laboratory"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    printed, kinds = "", []
    for block in BLOCK.finditer(PAGE.read_text()):
        kind, body = block["kind"], block["body"]
        kinds.append(kind)
        if kind in ("toml", "csv"):
            (name,) = re.findall(r"`([\w.]+)`[^`]*:$", block["before"])
            (folder / name).write_text(body)
        elif kind in ("sh", "python"):
            words = ["bash", "-euc", body] if kind == "sh" else [sys.executable, "-c", body]
            done = subprocess.run(
                words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            printed = done.stdout
            assert done.returncode == 0, f"{body}\n{printed}"
        else:
            assert kind == "text"
            assert plain(printed, digits=not block["varies"]) == plain(body, digits=not block["varies"])
    assert kinds.count("sh") >= 9
    assert printed.splitlines()[-1] == "True"  # what the Python example ends with
    assert (folder / "next.jsonl").read_text().startswith('{"number": 12, "celsius": ')
