"""Numbers indexed by the step: t = 1, 2, ... -> value."""

from __future__ import annotations

from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(value: float) -> Schedule:
    """The same value at every step."""
    return lambda _: value


def falling(value: float, steps: int) -> Schedule:
    """value (1 - (t-1) / steps): from the value at the first step in a straight line towards 0 after the last."""
    return lambda t: value * (1 - (t - 1) / steps)


def power(value: float, exponent: float) -> Schedule:
    """value t^-exponent: the step sizes of SCGA, ASCGA and CAdam."""
    return lambda t: value * t**-exponent


def exponential(value: float, factor: float) -> Schedule:
    """value factor^(t-1): the exponential learning-rate decay of the paper's tuning table."""
    return lambda t: value * factor ** (t - 1)


def inverse_time(value: float, rate: float) -> Schedule:
    """value / (1 + (t-1) rate): Adagrad's own decay."""
    return lambda t: value / (1 + (t - 1) * rate)


def vanishing_momentum(C_gamma: float, mu: float, mu_d: float) -> Schedule:
    """gamma1_t = C_gamma mu^(mu_d t): the weight that CAdam gives to the past gradients."""
    return lambda t: C_gamma * mu ** (mu_d * t)


def growing_memory(lr: float, gamma2_d: float, gamma1: Schedule) -> Schedule:
    """gamma2_t = 1 - lr t^-gamma2_d (1 - gamma1_t)^2: the weight that CAdam gives to the past squares.

    gamma1: schedule of gamma1_t.
    """
    return lambda t: 1 - lr * t**-gamma2_d * (1 - gamma1(t)) ** 2


def nasa_step(a: float, b: float, gamma: float) -> Schedule:
    """tau_t = min(1, 1/a, 1/b, 1/(a t^gamma)): all three averages of NASA stay convex combinations."""
    return lambda t: min(1.0, 1 / a, 1 / b, 1 / (a * t**gamma))


def scaled(schedule: Schedule, factor: float) -> Schedule:
    """The product of a factor and another schedule."""
    return lambda t: factor * schedule(t)
