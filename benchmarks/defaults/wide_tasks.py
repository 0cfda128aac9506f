"""Development tasks of 28 kinds in two dimensions or more: `sphere_4`, `weierstrass_40`, `few_20` and so on.

On a handful of tasks a choice can be sure of the wrong thing, so the defaults are judged on many kinds of functions:
those of the noiseless BBOB testbed (Hansen, Finck, Ros, Auger: Real-parameter black-box optimization benchmarking 2009,
RR-6829) with rotations and optima of our own, and four that look more like what people tune. Losses on a unit cube; the
smallest is 0.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.space import Float, Space
from compbo.study.tasks import FunctionTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Loss = Callable[[Vector], float]

BOX = 5.0  # the functions are defined on [-5, 5]^d


class _Drawn:
    """What the functions draw: an optimum and two rotations, by the name of the function and d."""

    def __init__(self, name: str, d: int) -> None:
        rng = np.random.default_rng([ord(letter) for letter in name] + [d])
        self.d, self.rng = d, rng
        self.optimum = rng.uniform(-4.0, 4.0, d)
        self.q, self.r = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
        self.part = np.arange(d) / max(d - 1, 1)  # (i - 1)/(d - 1)

    def stretch(self, alpha: float) -> Vector:
        """The diagonal of Lambda^alpha."""
        return np.asarray(alpha ** (0.5 * self.part))


def _osz(x: Vector) -> Vector:
    """T_osz: small irregularities, every coordinate for itself."""
    log = np.log(np.abs(x), out=np.zeros_like(x), where=x != 0)
    a, b = np.where(x > 0, 10.0, 5.5), np.where(x > 0, 7.9, 3.1)
    return np.asarray(np.sign(x) * np.exp(log + 0.049 * (np.sin(a * log) + np.sin(b * log))))


def _asy(x: Vector, beta: float, part: Vector) -> Vector:
    """T_asy^beta: what is positive is stretched."""
    return np.asarray(np.where(x > 0, np.abs(x) ** (1 + beta * part * np.sqrt(np.abs(x))), x))


def _outside(x: Vector) -> float:
    """f_pen: how far a point is outside the box."""
    return float((np.maximum(0, np.abs(x) - BOX) ** 2).sum())


def sphere(g: _Drawn) -> Loss:
    """A round bowl."""
    return lambda x: float(((x - g.optimum) ** 2).sum())


def ellipsoid(g: _Drawn) -> Loss:
    """A separable bowl of condition 10^6."""
    return lambda x: float(10 ** (6 * g.part) @ _osz(x - g.optimum) ** 2)


def rastrigin(g: _Drawn) -> Loss:
    """A bowl with regular deep ripples, separable."""

    def loss(x: Vector) -> float:
        z = g.stretch(10) * _asy(_osz(x - g.optimum), 0.2, g.part)
        return float(10 * (g.d - np.cos(2 * np.pi * z).sum()) + z @ z)

    return loss


def skew_rastrigin(g: _Drawn) -> Loss:
    """Büche and Rastrigin: ripples, ten times as steep on one side of every second coordinate."""
    even = np.arange(g.d) % 2 == 0

    def loss(x: Vector) -> float:
        t = _osz(x - g.optimum)
        z = np.where((t > 0) & even, 10.0, 1.0) * g.stretch(10) * t
        return float(10 * (g.d - np.cos(2 * np.pi * z).sum()) + z @ z)

    return loss


def slope(g: _Drawn) -> Loss:
    """A plane: the best is in a corner."""
    weight = np.sign(g.optimum) * 10**g.part
    return lambda x: float((BOX * np.abs(weight) - weight * x).sum())


def sector(g: _Drawn) -> Loss:
    """A bowl that is a hundred times as steep but in a narrow sector."""

    def loss(x: Vector) -> float:
        z = g.q @ (g.stretch(10) * (g.r @ (x - g.optimum)))
        steep = np.where(z * g.optimum > 0, 100.0, 1.0)
        return float(_osz(np.array([((steep * z) ** 2).sum()]))[0] ** 0.9)

    return loss


def steps(g: _Drawn) -> Loss:
    """Plateaus on a bowl of condition 100."""

    def loss(x: Vector) -> float:
        hat = g.stretch(10) * (g.r @ (x - g.optimum))
        tilde = np.where(np.abs(hat) > 0.5, np.floor(0.5 + hat), np.floor(0.5 + 10 * hat) / 10)
        z = g.q @ tilde
        return float(0.1 * max(abs(hat[0]) / 1e4, 10 ** (2 * g.part) @ z**2))

    return loss


def _valley(z: Vector) -> float:
    return float((100 * (z[:-1] ** 2 - z[1:]) ** 2 + (z[:-1] - 1) ** 2).sum())


def rosenbrock(g: _Drawn) -> Loss:
    """A curved valley."""
    wide = max(1.0, math.sqrt(g.d) / 8)
    return lambda x: _valley(wide * (x - 0.75 * g.optimum) + 1)


def turned_rosenbrock(g: _Drawn) -> Loss:
    """A curved valley, rotated."""
    wide = max(1.0, math.sqrt(g.d) / 8)
    return lambda x: _valley(wide * (g.r @ (x - 0.5 * g.optimum)) + 1)


def turned_ellipsoid(g: _Drawn) -> Loss:
    """A rotated bowl of condition 10^6."""
    return lambda x: float(10 ** (6 * g.part) @ _osz(g.r @ (x - g.optimum)) ** 2)


def discus(g: _Drawn) -> Loss:
    """One direction counts a million times as much as the others."""

    def loss(x: Vector) -> float:
        z = _osz(g.r @ (x - g.optimum))
        return float(1e6 * z[0] ** 2 + z[1:] @ z[1:])

    return loss


def cigar(g: _Drawn) -> Loss:
    """One direction counts a millionth of the others, and is bent."""

    def loss(x: Vector) -> float:
        z = g.r @ _asy(g.r @ (x - g.optimum), 0.5, g.part)
        return float(z[0] ** 2 + 1e6 * (z[1:] @ z[1:]))

    return loss


def ridge(g: _Drawn) -> Loss:
    """A sharp ridge that leads to the best."""

    def loss(x: Vector) -> float:
        z = g.q @ (g.stretch(10) * (g.r @ (x - g.optimum)))
        return float(z[0] ** 2 + 100 * np.linalg.norm(z[1:]))

    return loss


def powers(g: _Drawn) -> Loss:
    """Other powers in other directions."""
    return lambda x: float(np.sqrt((np.abs(g.r @ (x - g.optimum)) ** (2 + 4 * g.part)).sum()))


def turned_rastrigin(g: _Drawn) -> Loss:
    """A bowl with regular deep ripples, rotated."""

    def loss(x: Vector) -> float:
        z = g.r @ (g.stretch(10) * (g.q @ _asy(_osz(g.r @ (x - g.optimum)), 0.2, g.part)))
        return float(10 * (g.d - np.cos(2 * np.pi * z).sum()) + z @ z)

    return loss


def weierstrass(g: _Drawn) -> Loss:
    """Rugged at every scale, and nearly periodic."""
    k = np.arange(12)
    half, three = 0.5**k, 3.0**k
    least = float((half * np.cos(np.pi * three)).sum())

    def loss(x: Vector) -> float:
        z = g.r @ (g.stretch(0.01) * (g.q @ _osz(g.r @ (x - g.optimum))))
        rugged = (half * np.cos(2 * np.pi * three * (z[:, None] + 0.5))).sum() / g.d
        return float(10 * (rugged - least) ** 3)

    return loss


def _schaffers(g: _Drawn, condition: float) -> Loss:
    def loss(x: Vector) -> float:
        z = g.stretch(condition) * (g.q @ _asy(g.r @ (x - g.optimum), 0.5, g.part))
        s = np.sqrt(z[:-1] ** 2 + z[1:] ** 2)
        return float((np.sqrt(s) * (1 + np.sin(50 * s**0.2) ** 2)).mean() ** 2)

    return loss


def schaffers(g: _Drawn) -> Loss:
    """Ripples whose height and frequency vary."""
    return _schaffers(g, 10)


def steep_schaffers(g: _Drawn) -> Loss:
    """The same with condition 1000."""
    return _schaffers(g, 1000)


def griewank_rosenbrock(g: _Drawn) -> Loss:
    """Ripples along a curved valley."""
    wide = max(1.0, math.sqrt(g.d) / 8)
    centre = g.r.T @ np.full(g.d, 0.5 / wide)  # so that z = 1 there

    def loss(x: Vector) -> float:
        z = wide * (g.r @ (x - 0.5 * g.optimum + centre)) + 0.5
        s = 100 * (z[:-1] ** 2 - z[1:]) ** 2 + (z[:-1] - 1) ** 2
        return float(10 * ((s / 4000 - np.cos(s)).mean() + 1))

    return loss


def schwefel(g: _Drawn) -> Loss:
    """Deep valleys of which the best is near a corner; outside there is a penalty."""
    sign = np.sign(g.optimum)
    at = np.abs(0.5 * 4.2096874633 * sign)

    def loss(x: Vector) -> float:
        hat = 2 * sign * x
        away = hat - 2 * at
        away[1:] += 0.25 * (hat[:-1] - 2 * at[:-1])
        z = 100 * (g.stretch(10) * away + 2 * at)
        value = 4.189828872724339 - (z * np.sin(np.sqrt(np.abs(z)))).mean() / 100 + 100 * _outside(z / 100)
        return float(max(value, 0.0))

    return loss


def _peaks(g: _Drawn, count: int, condition: float, spread: float) -> Loss:
    """Gallagher: Gaussian peaks at random places, of which the first is the highest."""
    place = g.rng.uniform(-spread, spread, (count, g.d))
    place[0] = 0.8 * g.optimum
    height = np.concatenate([[10.0], 1.1 + 8 * np.arange(count - 1) / max(count - 2, 1)])
    alpha = 1000 ** (2 * np.arange(count - 1) / max(count - 2, 1))
    alpha = np.concatenate([[condition], g.rng.permutation(alpha)])
    scale = np.stack([g.rng.permutation(a ** (0.5 * g.part)) / a**0.25 for a in alpha])

    def loss(x: Vector) -> float:
        z = (x - place) @ g.r.T
        best = (height * np.exp(-(scale * z**2).sum(1) / (2 * g.d))).max()
        return float(_osz(np.array([10 - best]))[0] ** 2)

    return loss


def many_peaks(g: _Drawn) -> Loss:
    """101 peaks."""
    return _peaks(g, 101, 1e3, 5.0)


def few_peaks(g: _Drawn) -> Loss:
    """21 peaks, the highest of them thin."""
    return _peaks(g, 21, 1e6, 4.9)


def katsuura(g: _Drawn) -> Loss:
    """Rugged everywhere, with more than 10^d best regions."""
    two = 2.0 ** np.arange(1, 33)

    def loss(x: Vector) -> float:
        z = g.q @ (g.stretch(100) * (g.r @ (x - g.optimum)))
        rough = (np.abs(two * z[:, None] - np.round(two * z[:, None])) / two).sum(1)
        product = np.prod((1 + (np.arange(g.d) + 1) * rough) ** (10 / g.d**1.2))
        return float(10 / g.d**2 * (product - 1))

    return loss


def lunacek(g: _Drawn) -> Loss:
    """Two funnels with ripples; the wider one is the wrong one."""
    mu0, s = 2.5, 1 - 1 / (2 * math.sqrt(g.d + 20) - 8.2)
    mu1 = -math.sqrt((mu0**2 - 1) / s)
    sign = np.sign(g.optimum)

    def loss(x: Vector) -> float:
        hat = 2 * sign * x
        z = g.q @ (g.stretch(100) * (g.r @ (hat - mu0)))
        funnels = min(((hat - mu0) ** 2).sum(), g.d + s * ((hat - mu1) ** 2).sum())
        return float(funnels + 10 * (g.d - np.cos(2 * np.pi * z).sum()))

    return loss


def few(g: _Drawn) -> Loss:
    """Three of the parameters count, in one valley with side valleys; the others hardly."""
    count = min(3, g.d)
    which = g.rng.permutation(g.d)[:count]

    def loss(x: Vector) -> float:
        z = x - g.optimum
        main = z[which] / 2
        return float(main @ main + 1 - np.prod(np.cos(2 * main)) + 1e-3 * z @ z)

    return loss


def waves(g: _Drawn) -> Loss:
    """A smooth landscape: long waves, of which some parameters see much and some little."""
    relevance = np.exp(g.rng.normal(-0.5, 1.0, g.d))
    frequency = g.rng.standard_normal((64, g.d)) * relevance / math.sqrt(g.d) * 0.6
    size = g.rng.exponential(1.0, 64) / (1 + (frequency**2).sum(1))
    return lambda x: float(size @ (1 - np.cos(frequency @ (x - g.optimum))))


def additive(g: _Drawn) -> Loss:
    """Every parameter for itself, with its own weight, power and ripples."""
    weight, power = np.exp(g.rng.normal(0.0, 1.5, g.d)), g.rng.uniform(0.7, 3.0, g.d)
    ripple, often = g.rng.uniform(0.0, 0.5, g.d), g.rng.uniform(0.5, 3.0, g.d)

    def loss(x: Vector) -> float:
        z = (x - g.optimum) / BOX
        return float(weight @ (np.abs(z) ** power + ripple * (1 - np.cos(often * np.pi * z))))

    return loss


def training(g: _Drawn) -> Loss:
    """Like the loss of a trained model: flat where it learns nothing, a cliff beyond which it diverges."""
    weight = np.exp(g.rng.normal(-1.0, 1.0, g.d))
    towards = np.abs(g.rng.standard_normal(g.d)) * weight
    towards /= np.linalg.norm(towards)

    def loss(x: Vector) -> float:
        z = x - g.optimum
        if towards @ z > 0.8:  # diverged
            return 10.0 + float(towards @ z)
        bowl = float(weight @ z**2) / math.sqrt(g.d)
        return 2.3 * (1 - math.exp(-0.3 * bowl)) + 0.05 * bowl / (1 + bowl)

    return loss


FUNCTIONS = (
    *(sphere, ellipsoid, rastrigin, skew_rastrigin, slope, sector, steps, rosenbrock, turned_rosenbrock),
    *(turned_ellipsoid, discus, cigar, ridge, powers, turned_rastrigin, weierstrass, schaffers, steep_schaffers),
    *(griewank_rosenbrock, schwefel, many_peaks, few_peaks, katsuura, lunacek, few, waves, additive, training),
)
FAMILIES: dict[str, Callable[[_Drawn], Loss]] = {function.__name__: function for function in FUNCTIONS}


@cache
def _loss(family: str, d: int) -> Loss:
    return FAMILIES[family](_Drawn(family, d))


class _OnCube:
    """A loss of parameters in the unit cube; the function is made when it is first needed, since tasks are pickled."""

    def __init__(self, family: str, d: int) -> None:
        self.family, self.d = family, d

    def __call__(self, params: Mapping[str, Any]) -> float:
        u = np.array(list(params.values()), np.float64)
        return _loss(self.family, self.d)(2 * BOX * (u - 0.5))


def __getattr__(name: str) -> FunctionTask:
    """The task `family_dimension`."""
    match = re.fullmatch(rf"({'|'.join(FAMILIES)})_(\d+)", name)
    if match is None or int(match[2]) < 2:
        raise AttributeError(f"no development task {name!r}; they are written as weierstrass_20, 2 dimensions or more.")
    family, d = match[1], int(match[2])
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(d)})
    return FunctionTask(f"{__name__}:{name}", space, _OnCube(family, d), optimum=0.0)
