"""(b) Evaluation of the 1024 raw batches."""

from __future__ import annotations

import torch

from benchmarks.common import RAW, Q, Row, Work, alternate, botorch_acquisition
from compbo.seeds import stream
from compbo.threads import threads_for

TITLE = "Values of the 1024 raw batches (UCB)"
NOTE = "BoTorch in chunks of 64 batches, which is faster for it than one large evaluation."


def run(works: list[Work]) -> list[Row]:
    rows: list[Row] = []
    for w in works:
        x = torch.rand(RAW, Q, w.d, dtype=torch.float64, generator=stream(0, "raw", w.name))
        oracle, function = w.oracle(), botorch_acquisition(w)

        def ours() -> None:
            with threads_for(2.0 * RAW * Q * w.n * (w.n + w.d)):
                oracle.value(x, w.draw)

        def theirs() -> None:
            with torch.no_grad():
                torch.cat([function(part) for part in x.split(64)])

        mine, peer = alternate(ours, theirs, repeats=5, warmup=1)
        rows.append(
            {
                "size": w.name,
                "ours ms": 1e3 * mine.median,
                "BoTorch ms": 1e3 * peer.median,
                "times faster": peer.median / mine.median,
            }
        )
    return rows
