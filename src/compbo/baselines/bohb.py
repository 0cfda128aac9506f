"""BOHB's model at one fidelity (Falkner, Klein, Hutter 2018): two densities, and points where their ratio is large.

The observations are split in the best 15 % and the rest, each described by a kernel density. A suggestion is the one
of 64 draws from the good density, its bandwidths multiplied by 3, with the largest good / bad; a third of the
suggestions is uniform. As in the original, a density needs d + 1 points, so the good part has at least that many and
everything is uniform until both have them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from compbo.baselines.asktell import AskTell, Losses
from compbo.baselines.kde import Columns, Density
from compbo.seeds import next_seed
from compbo.space import Float, Int, Ordinal, Space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.baselines.kde import Array
    from compbo.bo.history import History, Point
    from compbo.space import Parameter


MOST_LEVELS = 256  # integers with more are treated as continuous


class Densities(NamedTuple):
    """The model: the density of the good observations, and that of the others, `bad`."""

    good: Density
    bad: Density


class BOHBModel(AskTell):
    """BOHB without Hyperband, by ask and tell; losses are minimised, failed evaluations count among the bad.

    seed: the source of everything random.

    good_share, draws, widen, random_share: the original's 15 %, 64, 3 and 1/3.
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        good_share: float = 0.15,
        draws: int = 64,
        widen: float = 3.0,
        random_share: float = 1 / 3,
    ) -> None:
        super().__init__(space, seed)
        for name, share in (("good_share", good_share), ("random_share", random_share)):
            if not 0 <= share <= 1:
                raise ValueError(f"BOHBModel: {name} must be between 0 and 1, got {share}.")
        if draws < 1 or not widen > 0:
            raise ValueError(f"BOHBModel: draws must be at least 1 and widen positive, got {draws} and {widen}.")
        self.good_share, self.draws, self.widen, self.random_share = good_share, draws, widen, random_share
        self._coding = Coding(space)

    def suggest(self, history: History, count: int) -> list[Point]:
        """Draws from the good density where good / bad is large; a third of the points, or all at first, is uniform."""
        generator = Losses.of(self.space, history).stream(self.seed, "bohb", count)
        points = self.space.sample(count, generator)
        model = self.model(history)
        if model is None:
            return points
        rng = np.random.default_rng(next_seed(generator))
        for i in np.flatnonzero(rng.random(count) >= self.random_share):
            candidates = model.good.sample(self.draws, self.widen, rng)
            ratio = model.good.log_density(candidates) - model.bad.log_density(candidates)
            points[i] = self._coding.decode(candidates[[np.argmax(ratio)]])[0]
        return points

    def model(self, history: History) -> Densities | None:
        """The two densities of a history; None while there is too little for both."""
        least = len(self._coding.columns.types) + 1
        losses = np.array([math.inf if e.value is None else e.value for e in history.evaluations])
        good = max(least, int(self.good_share * len(losses)))
        if np.isfinite(losses).sum() < good or len(losses) - good < least:
            return None
        codes = self._coding.encode([e.params for e in history.evaluations])
        order = sorted(range(len(losses)), key=lambda i: (losses[i], codes[i].tolist()))
        columns = self._coding.columns
        return Densities(Density.fit(codes[order[:good]], columns), Density.fit(codes[order[good:]], columns))


class Coding:
    """Points <-> rows of numbers: a unit coordinate for what is (nearly) continuous, else a level's index."""

    def __init__(self, space: Space) -> None:
        self.space = space
        varying = {name: p for name, p in space.parameters.items() if not p.is_constant}
        kinds = {name: _column_type(p) for name, p in varying.items()}
        self._names = list(varying)
        self._unit = [s for s, kind in enumerate(kinds.values()) if kind == "c"]
        self._unit_space = Space({n: p for n, p in varying.items() if kinds[n] == "c"}) if self._unit else None
        self._levels = {
            s: p.levels for s, p in enumerate(varying.values()) if p.levels is not None and s not in self._unit
        }
        sizes = (len(self._levels[s]) if s in self._levels else 0 for s in range(len(varying)))
        self.columns = Columns("".join(kinds.values()), tuple(sizes))

    def encode(self, points: Sequence[Mapping[str, Any]]) -> Array:
        """Points -> rows (n, d)."""
        rows = np.zeros((len(points), len(self._names)))
        for s, levels in self._levels.items():
            rows[:, s] = [levels.index(point[self._names[s]]) for point in points]
        if self._unit_space is not None:
            parts = [{name: point[name] for name in self._unit_space.names} for point in points]
            rows[:, self._unit] = self._unit_space.to_unit(parts).numpy()
        return rows

    def decode(self, rows: Array) -> list[Point]:
        """Rows (n, d) -> points."""
        points: list[Point] = [{} for _ in rows]
        if self._unit_space is not None:
            points = self._unit_space.from_unit(torch.from_numpy(rows[:, self._unit]))
        for point, row in zip(points, rows, strict=True):
            point.update({self._names[s]: levels[int(row[s])] for s, levels in self._levels.items()})
        return [self.space.validate(point) for point in points]


def _column_type(parameter: Parameter) -> str:
    """c, o or u of the density; steps, and integers on a warped scale or very many of them, are nearly continuous."""
    if parameter.levels is None or isinstance(parameter, Float):
        return "c"
    if isinstance(parameter, Int):
        return "o" if parameter.scale == "linear" and len(parameter.levels) <= MOST_LEVELS else "c"
    return "o" if isinstance(parameter, Ordinal) else "u"
