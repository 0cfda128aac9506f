"""The seven classical rules against torch.optim, the other rules against their formulas, and the schedules."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._pytree import tree_leaves

from compbo.maximizers import CATALOGUE, get_entry
from compbo.maximizers import schedules as s
from compbo.maximizers.rules.base import apply
from compbo.types import DTYPE, Box

BIG = Box(torch.full((2,), -1e9, dtype=DTYPE), torch.full((2,), 1e9, dtype=DTYPE))

GOLDEN = [
    ("SGA", torch.optim.SGD, {"lr": 0.07, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.05}, {}),
    ("SGA", torch.optim.SGD, {"lr": 0.07, "momentum": 0.8, "nesterov": True, "weight_decay": 0.05}, {}),
    ("SGA", torch.optim.SGD, {"lr": 0.07, "momentum": 0.0, "weight_decay": 0.05}, {}),
    (
        "Adagrad",
        torch.optim.Adagrad,
        {"lr": 0.2, "weight_decay": 0.05, "eps": 1e-6},
        {"lr_decay": ("lr_decay", 0.1), "initial_accumulator_value": ("delta", 0.2)},
    ),
    ("RMSprop", torch.optim.RMSprop, {"lr": 0.02, "alpha": 0.9, "momentum": 0.7, "weight_decay": 0.05}, {}),
    (
        "RMSprop",
        torch.optim.RMSprop,
        {"lr": 0.02, "alpha": 0.9, "weight_decay": 0.05},
        {"centered": ("centering", True)},
    ),
    (
        "RMSprop",
        torch.optim.RMSprop,
        {"lr": 0.02, "alpha": 0.8, "momentum": 0.4, "eps": 1e-5},
        {"centered": ("centering", True)},
    ),
    (
        "Adam",
        torch.optim.Adam,
        {"lr": 0.05, "weight_decay": 0.05, "eps": 1e-6},
        {"betas": (("beta1", "beta2"), (0.8, 0.95))},
    ),
    ("AdamW", torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.3}, {"betas": (("beta1", "beta2"), (0.8, 0.95))}),
    ("Adadelta", torch.optim.Adadelta, {"lr": 0.9, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.05}, {}),
    (
        "Rprop",
        torch.optim.Rprop,
        {"lr": 0.02},
        {"etas": (("eta_minus", "eta_plus"), (0.4, 1.3)), "step_sizes": ((None, "largest"), (1e-6, 0.1))},
    ),
]


def gradient_of(t: int, x: torch.Tensor) -> torch.Tensor:
    """A field with turning signs: stochastic, but the same for both sides."""
    noise = torch.randn(x.shape, dtype=DTYPE, generator=torch.Generator().manual_seed(t))
    return torch.cos(3 * x) - 0.5 * x + 0.7 * noise


def climb(rule, x: torch.Tensor, steps: int) -> list[torch.Tensor]:
    state, path = rule.init(x), []
    for t in range(1, steps + 1):
        move, state = rule.move(t, x, gradient_of(t, x), state)
        x = apply(move, x, BIG)
        path.append(x.clone())
    return path


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.order == 1])
def test_a_move_changes_nothing_that_it_is_given(name):
    """Point, gradient and state are as before: a state can be kept, compared and used again."""
    entry = CATALOGUE[name]
    rule = entry.build(**entry.defaults).rule
    x = torch.rand(3, 2, 2, dtype=DTYPE, generator=torch.Generator().manual_seed(1))
    state = rule.init(x)
    for t in (1, 2, 3):
        given = (x, gradient_of(t, x), state)
        kept = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in tree_leaves(given)]
        first, after = rule.move(t, *given)
        for leaf, before in zip(tree_leaves(given), kept, strict=True):
            assert torch.equal(leaf, before) if isinstance(leaf, torch.Tensor) else leaf == before
        again, _ = rule.move(t, *given)
        assert torch.equal(apply(first, x, BIG), apply(again, x, BIG))
        x, state = apply(first, x, BIG), after


@pytest.mark.parametrize(("name", "optimiser", "shared", "renamed"), GOLDEN)
def test_classical_rules_equal_torch_optim(name, optimiser, shared, renamed):
    ours, theirs = dict(shared), dict(shared)
    for their_name, (our_names, values) in renamed.items():
        theirs[their_name] = values
        if isinstance(our_names, str):
            ours[our_names] = values
        else:
            ours |= {n: v for n, v in zip(our_names, values, strict=True) if n is not None}
    entry = get_entry(f"{name}-ERM")
    start = torch.randn(3, 2, 2, dtype=DTYPE, generator=torch.Generator().manual_seed(99))
    parameter = torch.nn.Parameter(start.clone())
    reference = optimiser([parameter], maximize=True, **theirs)
    path = climb(entry.build(**entry.settled(**ours)).rule, start, 40)
    for t, x in enumerate(path, start=1):
        parameter.grad = gradient_of(t, parameter.detach())
        reference.step()
        assert torch.allclose(x, parameter.detach(), rtol=1e-12, atol=1e-12), f"step {t}"


def test_scheduled_learning_rate_equals_torch_exponential_lr():
    entry = get_entry("Adam-ERM")
    start = torch.randn(2, 1, 2, dtype=DTYPE, generator=torch.Generator().manual_seed(5))
    parameter = torch.nn.Parameter(start.clone())
    reference = torch.optim.Adam([parameter], lr=0.05, maximize=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(reference, gamma=0.9)
    for t, x in enumerate(climb(entry.build(**entry.settled(lr=0.05, lr_drop=0.1)).rule, start, 40), start=1):
        parameter.grad = gradient_of(t, parameter.detach())
        reference.step()
        scheduler.step()
        assert torch.allclose(x, parameter.detach(), rtol=1e-12, atol=1e-12), f"step {t}"


def test_dampened_nesterov_is_the_formula():
    """PyTorch refuses it; the tuning table contains it: m = rho m + (1-Delta) G, x += lr (G + rho m)."""
    entry = get_entry("SGA-ERM")
    settled = entry.settled(lr=0.1, momentum=0.6, dampening=0.5, nesterov=True)
    start = torch.zeros(1, 1, 2, dtype=DTYPE)
    x, m = start.clone(), None
    for t, ours in enumerate(climb(entry.build(**settled).rule, start, 10), start=1):
        gradient = gradient_of(t, x)
        m = gradient if m is None else 0.6 * m + 0.5 * gradient
        x = x + 0.1 * (gradient + 0.6 * m)
        assert torch.allclose(ours, x, rtol=1e-12, atol=1e-12)


def test_weight_decay_pulls_towards_the_origin():
    for name in ("SGA", "Adagrad", "RMSprop", "Adam", "AdamW", "Adadelta"):
        entry = get_entry(f"{name}-ERM")
        rule = entry.build(**entry.settled(weight_decay=0.1)).rule
        x = torch.full((1, 1, 2), 0.5, dtype=DTYPE)
        move, _ = rule.move(1, x, torch.zeros_like(x), rule.init(x))
        assert (apply(move, x, BIG) < x).all(), name


def test_rprop_never_moves_more_than_its_largest_step():
    entry = get_entry("Rprop-ERM")
    rule = entry.build(**entry.settled(eta_plus=3.0)).rule
    x = torch.zeros(1, 1, 2, dtype=DTYPE)
    state = rule.init(x)
    for t in range(1, 20):
        move, state = rule.move(t, x, torch.ones_like(x), state)
        moved = apply(move, x, BIG) - x
        x = x + moved
        assert moved.abs().max() <= 0.25 + 1e-12
    assert float(moved.abs().max()) == pytest.approx(0.25)


def test_averaged_rule_projects_before_it_averages():
    """x + tau (P(x + m / beta) - x): a move out of the box ends a part tau of the way to its border."""
    entry = get_entry("NASA")
    rule = entry.build(**entry.settled(a=2.0, b=1.0, beta=0.5)).rule
    x = torch.full((1, 1, 2), 0.4, dtype=DTYPE)
    move, _ = rule.move(1, x, torch.full_like(x, 100.0), rule.init(x))
    assert torch.allclose(apply(move, x, Box.unit(2)), torch.full_like(x, 0.4 + 0.5 * 0.6))


@given(a=st.floats(0.1, 10), b=st.floats(0.1, 10), gamma=st.floats(0, 1), t=st.integers(1, 10**6))
def test_nasa_step_keeps_every_average_convex(a, b, gamma, t):
    tau = s.nasa_step(a, b, gamma)(t)
    assert 0 < tau <= 1
    assert a * tau <= 1 + 1e-15
    assert b * tau <= 1 + 1e-15


def test_centred_rmsprop_never_takes_the_root_of_less_than_nothing():
    """Equal gradients have no variance; rounding leaves a negative one at some of these weights."""
    gradient = torch.linspace(0.1, 3.0, 64, dtype=DTYPE).reshape(1, 1, 64)
    for alpha in (1e-6, 1e-3, 0.3, 0.9):
        rule = get_entry("RMSprop-ERM").build(**get_entry("RMSprop-ERM").settled(alpha=alpha, centering=True)).rule
        x = torch.zeros_like(gradient)
        state = rule.init(x)
        for t in range(1, 20):
            move, state = rule.move(t, x, gradient, state)
            assert torch.isfinite(move.phi2).all()


@given(
    lr=st.floats(1e-5, 1.0),
    mu=st.floats(0.1, 0.999),
    C_gamma=st.floats(0.5, 1.0),
    mu_d=st.floats(0.8, 1.2),
    gamma2_d=st.floats(0.2, 0.8),
    t=st.integers(1, 1000),
)
def test_cadam_weights_stay_weights_on_the_whole_tuning_domain(lr, mu, C_gamma, mu_d, gamma2_d, t):
    gamma1 = s.vanishing_momentum(C_gamma, mu, mu_d)
    gamma2 = s.growing_memory(lr, gamma2_d, gamma1)
    assert 0 <= gamma1(t) < 1
    assert 0 <= gamma2(t) <= 1
    ratio = math.sqrt(1 - gamma2(t)) / (1 - gamma1(t))
    assert ratio == pytest.approx(math.sqrt(lr) * t ** (-gamma2_d / 2), rel=1e-3)


def test_schedules_at_their_first_steps():
    assert [s.constant(2.0)(t) for t in (1, 2)] == [2.0, 2.0]
    assert [s.power(2.0, 0.5)(t) for t in (1, 4)] == [2.0, 1.0]
    assert [s.exponential(2.0, 0.5)(t) for t in (1, 2, 3)] == [2.0, 1.0, 0.5]
    assert [s.inverse_time(2.0, 1.0)(t) for t in (1, 2, 4)] == [2.0, 1.0, 0.5]
    assert s.scaled(s.constant(2.0), 3.0)(7) == 6.0
