"""Python programs in processes of their own that need not import PyTorch, which is most of their time.

A server imports it once and forks for every program: `run` stands in for `subprocess.run` with `sys.executable`.
Nothing of compbo is imported before: what a program imports, and fails to import, is its own business.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


@cache
def _server() -> subprocess.Popen[str]:
    """It ends with this process, whose end of the pipe it reads."""
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(
    words: list[str], cwd: str | Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What `words` (sys.executable, then -W ignore if wanted, then a file or -c with code, arguments) printed."""
    assert words[0] == sys.executable
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        request = {"words": words[1:], "cwd": str(cwd or Path.cwd()), "env": {**(os.environ if env is None else env)}}
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps({**request, "out": str(out), "err": str(err)}) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(words, code, out.read_text(), err.read_text())


def _serve() -> dict[str, Any]:
    """Fork for every request, and answer with the exit code; comes back in the children alone."""
    import torch  # noqa: F401

    gc.collect()
    gc.freeze()  # else a child copies and collects all of it when it ends

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


def _become(request: dict[str, Any]) -> list[str]:
    """Take on folder, environment and files of a request; its words."""
    os.chdir(request["cwd"])
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(request["env"])
    asked = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*asked, *(path for path in sys.path[1:] if path not in {*asked, *before})]
    for place, number in ((os.devnull, 0), (request["out"], 1), (request["err"], 2)):
        os.dup2(os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT), number)
    words: list[str] = request["words"]
    if words[0] == "-W":
        warnings.simplefilter(words[1])  # type: ignore[arg-type]
        words = words[2:]
    return words


if __name__ == "__main__":
    what, *rest = _become(_serve())
    if what == "-c":
        code, sys.argv = rest[0], ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = [what, *rest]
        sys.path.insert(0, str(Path(what).parent.resolve()))
        runpy.run_path(what, run_name="__main__")
