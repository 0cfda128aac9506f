"""Is "converged" earned? Many asks, and for every one that says so a second, independent maximisation.

`python -m benchmarks verdicts` writes a row per ask into benchmarks/verdicts.csv and the table made of them into
benchmarks/README.md and docs/verdicts.md.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import Row
from benchmarks.second_maximisation import beaten
from benchmarks.verdict_scenes import Scene, ask, generator_of, problem
from compbo.bo.verdict import Verdict
from compbo.seeds import stream

TITLE = "Is a converged maximisation really over?"
NOTE = (
    "Asks with every verdict, by maximizer, acquisition and history; for every `converged` a second, independent "
    "maximisation. What the columns mean: [docs/verdicts.md](../docs/verdicts.md). Every ask: benchmarks/verdicts.csv."
)
ASKS = Path(__file__).parent / "verdicts.csv"
PAGE = Path(__file__).parent.parent / "docs" / "verdicts.md"
BEGIN, END = "<!-- made by python -m benchmarks verdicts -->", "<!-- end -->"

MAXIMIZERS = (
    *("RS", "CMA-ES", "DE", "L-BFGS-B", "SGA-ERM", "Adam-ERM", "AdamOS-FSM"),
    *("SCGA", "CAdam", "NASA", "Nested-MC", "CAdam-ME", "SOX", "MSVR"),
)
ACQUISITIONS = ("ei", "pi", "sr", "ucb", "logei")
SCENES = (
    Scene("levy", 2, 8, 2, late=False),
    Scene("styblinski-tang", 6, 20, 2, late=False),
    Scene("mixed", 6, 24, 2),
    Scene("ackley", 16, 64, 2),
)
SOME_ACQUISITIONS = ("ei", "sr", "ucb")
SOME_MAXIMIZERS = ("DE", "L-BFGS-B", "Adam-ERM", "SCGA", "NASA", "CAdam-ME")
OTHER_SCENES = (
    Scene("styblinski-tang", 2, 16, 1),
    Scene("levy", 6, 60, 4),
    Scene("ints", 8, 24, 4, late=False),
    Scene("levy", 40, 120, 4),
    Scene("ackley", 120, 200, 4, late=False),
)

SMALL_SHARE, SURELY = 0.05, 3.0  # of what the climb gained; standard errors of the difference
STAGES = (Verdict.CONVERGED, Verdict.CLIMBING, Verdict.DID_NOT_MOVE, Verdict.FLAT)


class Ask(NamedTuple):
    """One ask: what was said, and for `converged` by how much a second maximisation beats it (NaN for the others)."""

    history: str
    acquisition: str
    maximizer: str
    verdict: str
    value: float
    gain: float
    beaten_by: float = math.nan
    beaten_error: float = math.nan

    @property
    def beyond_share(self) -> bool:
        return self.beaten_by > max(SMALL_SHARE * self.gain, rounding(self.value))

    @property
    def beyond_chance(self) -> bool:
        return self.beaten_by > max(SURELY * self.beaten_error, rounding(self.value))


def rounding(value: float) -> float:
    return 1e-9 * max(1.0, abs(value))


def grid() -> Iterator[tuple[Scene, str, str]]:
    yield from product(SCENES, ACQUISITIONS, MAXIMIZERS)
    yield from product(OTHER_SCENES, SOME_ACQUISITIONS, SOME_MAXIMIZERS)


def measure(scene: Scene, acquisition: str, maximizer: str) -> Ask:
    """One ask, and the second maximisation where it says that it converged."""
    batch, telemetry = ask(scene, acquisition, maximizer)
    said = Ask(
        scene.name,
        acquisition,
        maximizer,
        str(telemetry.verdict),
        telemetry.acquisition_value,
        telemetry.acquisition_gain,
    )
    if telemetry.verdict is not Verdict.CONVERGED:
        return said
    task = problem(scene, acquisition)
    first, again = generator_of(scene, acquisition, maximizer), stream(1, "second maximisation", scene.name)
    by, error = beaten(task, batch, first, again)
    return said._replace(beaten_by=by, beaten_error=error)


def summary(what: str, asks: list[Ask]) -> Row:
    """A row of the table."""
    counts = {stage: sum(ask.verdict == stage for ask in asks) for stage in STAGES}
    false = sum(ask.beyond_share and ask.beyond_chance for ask in asks)
    either = sum(ask.beyond_share or ask.beyond_chance for ask in asks)
    return {
        "asks": what,
        "number": len(asks),
        **{str(stage): counts[stage] for stage in STAGES},
        "false converged": f"{false} ({_share(false, counts[Verdict.CONVERGED])})",
        "stricter": f"{either} ({_share(either, counts[Verdict.CONVERGED])})",
    }


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def table(asks: list[Ask]) -> list[Row]:
    """All asks, then by maximizer, by acquisition and by history."""
    rows = [summary("all", asks)]
    for field in ("maximizer", "acquisition", "history"):
        groups = dict.fromkeys(getattr(ask, field) for ask in asks)
        rows += [summary(group, [ask for ask in asks if getattr(ask, field) == group]) for group in groups]
    return rows


def write_asks(asks: list[Ask]) -> None:
    with ASKS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Ask._fields)
        writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in ask] for ask in asks)


def read_asks() -> list[Ask]:
    with ASKS.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [Ask(row[0], row[1], row[2], row[3], *map(float, row[4:])) for row in rows]


def markdown(rows: list[Row]) -> str:
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(str(row[column]) for column in columns) + " |" for row in rows])


def write_page(asks: list[Ask]) -> None:
    """Put the table between its marks in docs/verdicts.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{markdown(table(asks))}\n\n{END}{after}", encoding="utf-8")


def run() -> list[Row]:
    asks = []
    for cell in grid():
        asks.append(measure(*cell))
        print(*asks[-1], sep=", ", flush=True)
    write_asks(asks)
    asks = read_asks()
    write_page(asks)
    return table(asks)
