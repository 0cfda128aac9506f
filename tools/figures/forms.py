"""The four forms of samples: which samples a step sees, and which columns the tracker remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.acquisition.samples import make_samples
from compbo.seeds import stream
from compbo.types import POOL_FORMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

K, STEPS = 4, 8  # samples of a step, steps
FRESH, DRAWN, KEPT = "#0072b2", "#d55e00", "#f5c9a6"
WORDS = {
    "ERM": "ERM: new samples at every step,\nforgotten after it",
    "FSM": "FSM: a pool, drawn once;\na step sees a part of it",
    "Comp": "Comp: a pool, and a memory zeta\nof all its columns",
    "ME": "ME: new samples, and a memory zeta\nof one step's columns",
}


def drawn(form: str) -> np.ndarray:
    """Which columns a step sees, (steps, K): places in the pool, or places in the row of all fresh samples."""
    samples = make_samples(form, 1, minibatch=K, steps=STEPS)
    samples.start(stream(0, "forms"))
    rows = []
    for t in range(STEPS):
        columns = samples.draw().columns
        rows.append(np.arange(t * K, (t + 1) * K) if columns is None else np.sort(columns.numpy()))
    return np.stack(rows)


def draw() -> Figure:
    """A panel for every form; steps go down, samples to the right."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(7.2, 5.0), sharey=True)
    for axes, (form, words) in zip(panels.flat, WORDS.items(), strict=True):
        _panel(axes, form)
        axes.set_title(words, loc="left")
        axes.set_xlabel("sample of the pool" if form in POOL_FORMS else "sample, in the order of their draws")
    for axes in panels[:, 0]:
        axes.set_ylabel("step")
    return figure


def _panel(axes: Axes, form: str) -> None:
    rows = drawn(form)
    axes.grid(visible=False)
    for t, columns in enumerate(rows):
        remembered: set[int] = set()
        if form == "Comp":  # zeta_0 is made on all columns
            remembered = set(range(K * STEPS))
        elif form == "ME" and t:
            remembered = set(rows[t - 1])
        for column in sorted(remembered - set(columns)):
            _square(axes, t, column, KEPT)
        for column in columns:
            _square(axes, t, column, DRAWN if form in ("Comp", "ME") else FRESH)
    axes.set_xlim(-0.5, K * STEPS - 0.5)
    axes.set_ylim(STEPS + 0.5, 0.5)
    axes.set_yticks(range(1, STEPS + 1))
    axes.set_xticks(range(0, K * STEPS, 8), [str(column + 1) for column in range(0, K * STEPS, 8)])


def _square(axes: Axes, t: int, column: int, colour: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((column - 0.45, t + 0.58), 0.9, 0.84, color=colour, linewidth=0))
