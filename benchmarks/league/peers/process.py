"""A peer in an environment of its own: a process that is sent JSON, a line for every request, and answers with a line.

    {"do": "open", "variables": [...], "seed": 1, "initial": 16, "evaluations": 144}  ->  {"version": "0.3.6"}
    {"do": "observe", "points": [[...], ...], "losses": [1.5, null]}                  ->  {}
    {"do": "suggest", "count": 8}                                                     ->  {"points": [[...], ...]}

An answer {"error": "..."} is an error of the peer. The process ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from benchmarks.league.peers.variables import to_numbers, to_points, variables_of
from compbo.seeds import derive_seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task

ROOT = Path(__file__).parents[3]
HEBO, SMAC = "0.3.6", "2.4.1"  # as hebo.txt and smac.txt pin them
SERVERS = Path(__file__).parent / "servers"
KEPT = 2000  # characters of what a dead process wrote last


class PeerError(RuntimeError):
    """The peer cannot be started, has ended, or answers with an error."""


class NotInstalledError(PeerError):
    """There is no environment of the peer."""


def python_of(peer: str) -> Path:
    """The python of a peer's environment, COMPBO_LEAGUE_HEBO or .venv-hebo/bin/python; an error if there is none."""
    variable = f"COMPBO_LEAGUE_{peer.upper()}"
    place = Path(os.environ.get(variable) or ROOT / f".venv-{peer}" / "bin" / "python")
    if not place.is_file():
        raise NotInstalledError(
            f"{peer} lives in an environment of its own, and there is no {place}: run `make league-peers`, or set "
            f"{variable} to the python of an environment that has it."
        )
    return place


def _environment() -> dict[str, str]:
    """Nothing that would lead a peer to our packages; SMAC goes through sets, hence one order of those."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**ours, "PYTHONHASHSEED": "0"}


class PeerProcess:
    """A running peer.

    Args:
        command: that starts it.
    """

    def __init__(self, command: Sequence[str | os.PathLike[str]]) -> None:
        self._words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            encoding="utf-8",
            env=_environment(),
        )

    def request(self, **message: Any) -> dict[str, Any]:
        """The answer to a message; PeerError if it is an error or the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"The peer has ended at {message['do']!r}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(f"The peer failed at {message['do']!r}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        self._process.wait()
        self._words.seek(max(0, self._words.seek(0, os.SEEK_END) - KEPT))
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def close(self) -> None:
        """Let it end."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # a request that was not read
                    pipe.close()
        self._process.wait()
        self._words.close()


class PeerMethod:
    """A peer behind the study's interface. Its process ends with that of the cell, or by `close`.

    Args:
        cell: the experiment; the option `version` is what the peer must be.
        task: of the cell.
        command: that starts the peer.
    """

    def __init__(self, cell: Cell, task: Task, command: Sequence[str | os.PathLike[str]]) -> None:
        self._space, self._variables = task.space, variables_of(task.space)
        self.last_ask: Mapping[str, Any] = {}
        self._process = PeerProcess(command)
        try:
            self._open(cell)
        except PeerError:
            self.close()
            raise

    def _open(self, cell: Cell) -> None:
        peer, wanted = cell.method.kind, dict(cell.method.hyperparameters).get("version")
        version = self._process.request(
            do="open",
            variables=[variable.description() for variable in self._variables],
            seed=derive_seed(cell.seed, peer) % 2**31,
            initial=cell.initial,
            evaluations=cell.initial + cell.batch * cell.steps,
        )["version"]
        if version != wanted:
            raise PeerError(f"{peer} is {version} here, {wanted} in the cell: run `make league-peers`.")

    def ask(self, count: int) -> list[Point]:
        """The next points."""
        rows = self._process.request(do="suggest", count=count)["points"]
        return to_points(self._space, self._variables, rows)

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._process.request(do="observe", points=to_numbers(self._variables, points), losses=list(losses))

    def close(self) -> None:
        """End the process."""
        self._process.close()


def make_peer(cell: Cell, task: Task) -> PeerMethod:
    """The peer that the kind of a cell names, in its own environment."""
    peer = cell.method.kind
    return PeerMethod(cell, task, [python_of(peer), "-P", SERVERS / f"{peer}_server.py"])
