"""A run in a process of its own that kills itself: python resumed_run.py STORAGE EVALUATIONS KILL_AT."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

SEEN = [0]
KILL_AT = [-1]


def objective(p: dict[str, Any]) -> float:
    SEEN[0] += 1
    if SEEN[0] == KILL_AT[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    if p["n"] == 3:
        raise ValueError("three")
    return (p["x"] - 0.1) ** 2 + (p["n"] - 5) ** 2 / 7 + (p["kind"] == "b") / 3


def run(storage: str | None, evaluations: int, **options: Any) -> Any:
    import compbo
    from compbo import Budget, Categorical, Float, Int, StartPolicy

    space = {"x": Float(-1, 1), "n": Int(1, 9), "kind": Categorical(["a", "b"])}
    cheap: dict[str, Any] = {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8)}
    return compbo.minimize(
        objective, space, evaluations=evaluations, batch_size=8, seed=4, storage=storage, **{**cheap, **options}
    )


if __name__ == "__main__":
    KILL_AT[0] = int(sys.argv[3])
    run(sys.argv[1], int(sys.argv[2]))
