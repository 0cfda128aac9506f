"""The table of one suggestion beside those of other libraries: what is timed, and how it becomes a row."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks import suggestions
from benchmarks.goals import goals_table
from benchmarks.league.peers.process import NotInstalledError, PeerError

from compbo import plugins
from compbo.study.methods.registry import KINDS
from compbo.study.tasks import get_task
from compbo.study.tasks.registry import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGIN = "benchmarks.league.plugin"
ROOT = Path(__file__).parents[1]


@pytest.fixture
def league_methods() -> Iterator[None]:
    """The methods and tasks of the league, for one test: what a plugin registers stays, and cells would ask for it."""
    registries: list[dict[str, Any]] = [KINDS, OWN, plugins._named]
    before = [dict(registry) for registry in registries]
    plugins.load_plugin(PLUGIN)
    yield
    for registry, old in zip(registries, before, strict=True):
        registry.clear()
        registry.update(old)
    del sys.modules[PLUGIN]


def test_an_import_registers_nothing() -> None:
    """The page of the league and the benchmark are imported by tests that run beside those of the study."""
    script = (
        "from compbo.study.methods.registry import KINDS\nbefore = list(KINDS)\n"
        "import benchmarks.suggestions, benchmarks.readme\nfrom benchmarks.league import page\n"
        "assert list(KINDS) == before"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


class Counted:
    """A method that takes a second of the test's clock for every point, and remembers what it was told."""

    def __init__(self, clock: list[float], pace: float) -> None:
        self.clock, self.pace, self.asked, self.told = clock, pace, 0, 0
        self.last_ask: dict[str, Any] = {}

    def ask(self, count: int) -> list[dict[str, float]]:
        self.asked += 1
        self.clock[0] += 100.0 if self.asked == 1 else self.pace * count  # the first imports
        return [{"x1": 0.0, "x2": 0.0}] * count

    def tell(self, points: list[dict[str, float]], losses: list[float]) -> None:
        self.clock[0] += 1000.0  # must not count
        self.told += len(points)


@pytest.mark.parametrize(("q", "timed"), [(1, 8), (8, 2), (16, 2)])
def test_all_asks_but_the_first_are_timed_and_nothing_else(q: int, timed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(suggestions.time, "perf_counter", lambda: clock[0])
    methods = {"compbo": Counted(clock, 1.0), "other": Counted(clock, 3.0)}
    seconds = suggestions.asked_in_turn(methods, get_task("levy-2"), q)
    assert seconds == {"compbo": timed * q, "other": 3.0 * timed * q}
    assert methods["other"].told == (timed + 1) * q


def test_a_row_has_means_of_seeds_and_says_who_is_not_there() -> None:
    seconds = [{"compbo": 1.0, "optuna-gp": 2.0}, {"compbo": 4.0, "optuna-gp": 32.0}]
    row = suggestions.row_of("levy-6-shifted", 8, seconds, ("optuna-gp", "hebo"))
    assert row == {
        "task": "levy-6-shifted",
        "q": 8,
        "compbo s": pytest.approx(1.0),  # of two asks each: 0.5 and 2
        "optuna-gp / compbo": pytest.approx(4.0),
        "hebo / compbo": "not installed",
        "seeds apart by": pytest.approx(4.0),
    }
    table = goals_table({"suggestions": {"rows": [row]}})
    assert (
        "| a suggestion of 8 points in 6, 20 and 60 dimensions, times faster than optuna-gp | 8 | 4 | **missed** |"
        in table
    )
    assert "hebo" not in table


@pytest.mark.usefixtures("league_methods")
def test_methods_are_told_the_same_run_and_a_peer_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: dict[str, list[Any]] = {}
    make = suggestions.make_method

    def watched(cell: Any, task: Any) -> Any:
        if cell.method.kind == "hebo":
            raise NotInstalledError("no environment")
        if cell.method.kind == "smac":
            raise PeerError("another version")
        method = make(cell, task)
        told.setdefault(cell.method.kind, [])
        tell = method.tell
        method.tell = lambda points, losses: (told[cell.method.kind].append((points, losses)), tell(points, losses))[1]
        return method

    monkeypatch.setattr(suggestions, "make_method", watched)
    monkeypatch.setattr(
        suggestions,
        "history",
        lambda task, seed: suggestions.initial_design(suggestions.cell_of("random-search", task, 8, seed), task),
    )
    seconds = suggestions.seconds_of("levy-2", 16, 0, ("random-search", "hebo"))
    assert set(seconds) == {"compbo", "random-search"}
    assert all(value > 0 for value in seconds.values())
    assert told["compbo"][0] == told["random-search"][0]
    with pytest.raises(PeerError, match="another version"):
        suggestions.seconds_of("levy-2", 16, 0, ("random-search", "smac"))
    assert all(kind in KINDS for kind in (suggestions.OURS, *suggestions.PEERS))


def test_a_history_is_a_run_of_compbo() -> None:
    task = get_task("levy-2-shifted", 0)
    points = suggestions.history(task, 0)
    losses = [task.evaluate(point) for point in points]
    assert len(points) == suggestions.TOLD
    assert min(losses[suggestions.INITIAL :]) < min(losses[: suggestions.INITIAL]) / 10
