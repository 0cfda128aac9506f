"""One figure: how many times faster than BoTorch, by part and size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.common import SIZES

PARTS = {
    "value-and-gradient": ("value and gradient\n(UCB)", "size", "single, times faster", {"acquisition": "ucb"}),
    "raw-batches": ("1024 raw\nbatches", "size", "times faster", {}),
    "maximisation": ("whole maximisation\n(Adam)", "size", "faster than BoTorch Adam", {"method": "Adam-ERM"}),
    "fit": ("GP fit\n(cold)", "size", "than alone", {"start": "cold"}),
    "step": ("BO step\n(CAdam)", "step", "CAdam times faster", {}),
}
COLOURS = ("#56B4E9", "#0072B2", "#009E73", "#D55E00")


def draw_figure(results: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sizes = [f"W({d},{n})" for d, n in SIZES]
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    present = [part for part in PARTS if part in results]
    width = 0.8 / len(sizes)
    for s, (size, colour) in enumerate(zip(sizes, COLOURS, strict=True)):
        heights = [_ratio(results[part]["rows"], part, size) for part in present]
        places = [i + (s - 1.5) * width for i in range(len(present))]
        bars = axes.bar(places, heights, width * 0.92, label=size, color=colour)
        axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=1)
    axes.axhline(1.0, color="0.4", linewidth=0.8)
    axes.set_xticks(range(len(present)), [PARTS[part][0] for part in present])
    axes.set_ylabel("times faster than BoTorch")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=4, loc="upper left")
    axes.margins(y=0.15)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _ratio(rows: list[dict[str, Any]], part: str, size: str) -> float:
    _, key, column, where = PARTS[part]
    chosen = [row for row in rows if row[key] == size and all(row[k] == v for k, v in where.items())]
    return float(chosen[0][column]) if chosen else 0.0
