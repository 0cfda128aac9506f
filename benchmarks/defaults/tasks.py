"""The development tasks: the defaults are chosen on them, so nothing is claimed on them.

Every function of this module is a task of the study by its import path, `benchmarks.defaults.tasks:valley_20`. All are
losses on a unit cube; optima lie at fixed random places.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.space import Float, Space
from compbo.study.tasks import FunctionTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Loss = Callable[[NDArray[np.float64]], float]


def _place(d: int, seed: int, low: float = 0.15, high: float = 0.85) -> NDArray[np.float64]:
    return np.random.default_rng(seed).uniform(low, high, d)


def _rotation(d: int, seed: int) -> NDArray[np.float64]:
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


def griewank(d: int) -> Loss:
    """A bowl with regular ripples."""
    optimum, roots = _place(d, 11), np.sqrt(np.arange(1, d + 1))

    def loss(u: NDArray[np.float64]) -> float:
        x = (u - optimum) * 200
        return float((x**2).sum() / 4000 - np.prod(np.cos(x / roots)) + 1)

    return loss


def zakharov(d: int) -> Loss:
    """A bowl with a steep wall along one direction: the fourth power of a weighted sum."""
    optimum, weight = _place(d, 12), 0.5 * np.arange(1, d + 1)

    def loss(u: NDArray[np.float64]) -> float:
        x = (u - optimum) * 15
        s = float(weight @ x)
        return float(x @ x) + s**2 + s**4

    return loss


def michalewicz(d: int) -> Loss:
    """Flat, with narrow valleys along every axis; the sum of the axes' minima is taken off."""
    index = np.arange(1, d + 1)
    grid = np.linspace(0, math.pi, 200_001)
    least = sum(float((-np.sin(grid) * np.sin(i * grid**2 / math.pi) ** 20).min()) for i in index)

    def loss(u: NDArray[np.float64]) -> float:
        x = u * math.pi
        return float(-(np.sin(x) * np.sin(index * x**2 / math.pi) ** 20).sum()) - least

    return loss


def schwefel(d: int) -> Loss:
    """Many deep valleys; the best lies near a corner, far from the second best."""

    def loss(u: NDArray[np.float64]) -> float:
        x = (u - 0.5) * 1000
        return float(418.9828872724339 * d - (x * np.sin(np.sqrt(np.abs(x)))).sum())

    return loss


def ellipsoid(d: int) -> Loss:
    """A rotated quadratic bowl of condition 10^4."""
    optimum, rotation = _place(d, 13), _rotation(d, 14)
    weight = 1e4 ** (np.arange(d) / max(d - 1, 1))

    def loss(u: NDArray[np.float64]) -> float:
        x = rotation @ ((u - optimum) * 10)
        return float(weight @ x**2)

    return loss


def valley(d: int) -> Loss:
    """Rosenbrock's curved valley, rotated."""
    optimum, rotation = _place(d, 15, 0.3, 0.7), _rotation(d, 16)

    def loss(u: NDArray[np.float64]) -> float:
        x = rotation @ ((u - optimum) * 4) + 1
        return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())

    return loss


def lander(d: int) -> Loss:
    """Land a point mass softly with a controller of 12 numbers, in four winds."""
    assert d == 12
    winds = np.random.default_rng(17).normal(0, 1, (4, 2))
    reach = np.array([1, 1, 1.5, 1.5, 1, 1, 1.5, 1.5, 1, 1, 0.5, 0.5])

    def landing(p: NDArray[np.float64], push: float, drift: float) -> float:
        x, y, vx, vy, angle, turning, fuel = 0.3 * push, 1.4, 0.3 * drift, -0.3, 0.1 * push, 0.0, 0.0
        for _ in range(150):
            target = max(-0.6, min(0.6, p[0] * 0.5 * x + p[1] * vx))
            hover = p[2] * abs(x) * 0.5 + 0.3 * p[10]
            torque = p[3] * (target - angle) * 2 - p[4] * turning * 2
            lift = p[5] * (hover - y) - p[6] * vy + p[11]
            main = 1.0 if lift > p[7] * 0.2 else 0.0
            side = math.copysign(1.0, torque) if abs(torque) > abs(p[8]) * 0.2 else 0.0
            fuel += 0.3 * main + 0.03 * abs(side)
            vx += 0.05 * (-math.sin(angle) * main * 1.2 + 0.02 * push)
            vy += 0.05 * (math.cos(angle) * main * 1.2 - 0.6)
            turning += 0.05 * side * 0.8
            x, y, angle = x + 0.05 * vx, y + 0.05 * vy, angle + 0.05 * turning
            if y <= 0 or abs(x) > 1.5 or y > 3:
                break
        away = math.hypot(x, max(y, 0)) + math.hypot(vx, vy) + abs(angle)
        return 100 * away + fuel + (100 if y > 0 else 0) + (100 if abs(x) > 1 else 0)

    def loss(u: NDArray[np.float64]) -> float:
        p = (u - 0.5) * 2 * reach
        return float(np.mean([landing(p, push, drift) for push, drift in winds]))

    return loss


def pushing(d: int) -> Loss:
    """Two hands push two discs to their goals: place, heading, speed, turn, time and width of each hand."""
    assert d == 14
    goals, discs = np.array([[0.7, 0.6], [-0.5, 0.7]]), np.array([[0.1, 0.2], [-0.2, -0.1]])

    def loss(u: NDArray[np.float64]) -> float:
        v, place = (u - 0.5) * 2, discs.copy()
        hands = [v[7 * k : 7 * k + 2].copy() for k in range(2)]
        heading = [v[7 * k + 2] * math.pi for k in range(2)]
        for t in range(60):
            for k in range(2):
                _, _, _, speed, turn, time, size = v[7 * k : 7 * k + 7]
                if t >= int(20 + 15 * (time + 1)):
                    continue
                heading[k] += turn * 0.08
                step = 0.02 + 0.03 * (speed + 1)
                hands[k] += step * np.array([math.cos(heading[k]), math.sin(heading[k])])
                for j in range(2):
                    place[j] += _apart(place[j] - hands[k], 0.2 + 0.05 * size)
            half = _apart(place[1] - place[0], 0.2) / 2
            place[1] += half
            place[0] -= half
        return float(np.linalg.norm(place - goals, axis=1).sum())

    return loss


def _apart(gap: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """What must be added to a gap so that it is at least `reach` long."""
    distance = math.hypot(*gap)
    return gap / (distance + 1e-9) * max(reach - distance, 0.0)


def boosting(d: int) -> Loss:
    """Log-loss of gradient boosting in three folds: rate, depth, subsample, features, leaf size."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold

    assert d == 5
    x, y = load_breast_cancer(return_X_y=True)
    kept = np.random.default_rng(0).permutation(len(y))[:250]
    x, y = x[kept], y[kept]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(x, y))

    def loss(u: NDArray[np.float64]) -> float:
        model = GradientBoostingClassifier(
            n_estimators=25,
            random_state=0,
            learning_rate=10 ** (-3 + 3 * u[0]),
            max_depth=1 + round(u[1] * 7),
            subsample=0.3 + 0.7 * u[2],
            max_features=0.05 + 0.95 * u[3],
            min_samples_leaf=1 + round(u[4] * 30),
        )
        said = [(test, model.fit(x[train], y[train]).predict_proba(x[test])) for train, test in folds]
        return float(np.mean([log_loss(y[test], odds, labels=[0, 1]) for test, odds in said]))

    return loss


def vectors(d: int) -> Loss:
    """Squared error of support-vector regression in three folds: C, gamma, epsilon, tolerance."""
    from sklearn.datasets import make_friedman1
    from sklearn.model_selection import KFold
    from sklearn.svm import SVR

    assert d == 4
    x, y = make_friedman1(200, 8, noise=1.0, random_state=0)
    folds = list(KFold(3, shuffle=True, random_state=0).split(x))

    def loss(u: NDArray[np.float64]) -> float:
        c, gamma, epsilon, tol = (
            10 ** (-2 + 5 * u[0]),
            10 ** (-4 + 5 * u[1]),
            10 ** (-3 + 3 * u[2]),
            10 ** (-5 + 4 * u[3]),
        )
        model = SVR(C=c, gamma=gamma, epsilon=epsilon, tol=tol, max_iter=20_000)
        errors = [model.fit(x[train], y[train]).predict(x[test]) - y[test] for train, test in folds]
        return float(np.mean([np.square(error).mean() for error in errors]))

    return loss


FAMILIES: dict[str, tuple[Callable[[int], Loss], float | None]] = {  # with the smallest loss, where it is known
    "griewank": (griewank, 0.0),
    "zakharov": (zakharov, 0.0),
    "michalewicz": (michalewicz, 0.0),
    "schwefel": (schwefel, 0.0),
    "ellipsoid": (ellipsoid, 0.0),
    "valley": (valley, 0.0),
    "lander": (lander, None),
    "pushing": (pushing, 0.0),
    "boosting": (boosting, None),
    "vectors": (vectors, None),
}


@cache
def _loss(family: str, d: int) -> Loss:
    return FAMILIES[family][0](d)


class _Loss:
    """The loss of a task, made when it is first needed: tasks are pickled, functions made by functions are not."""

    def __init__(self, family: str, d: int) -> None:
        self.family, self.d = family, d

    def __call__(self, params: Mapping[str, Any]) -> float:
        return _loss(self.family, self.d)(np.array([params[f"x{i}"] for i in range(self.d)]))


def __getattr__(name: str) -> FunctionTask:
    """The task `family_dimension`, for instance `valley_20`."""
    family, _, d = name.rpartition("_")
    if family not in FAMILIES or not d.isdecimal():
        raise AttributeError(f"no development task {name!r}; the families are {', '.join(FAMILIES)}.")
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(int(d))})
    return FunctionTask(f"{__name__}:{name}", space, _Loss(family, int(d)), optimum=FAMILIES[family][1])
