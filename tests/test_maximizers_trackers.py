"""The trackers: what they converge to, how fast, which columns they change, and what a step costs."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from compbo.maximizers import CATALOGUE, Ascent, make_maximizer, run_within
from compbo.maximizers.memory import FreshMemory, LatePoolMemory, PoolMemory
from compbo.maximizers.rules.sga import sga
from compbo.maximizers.schedules import constant
from compbo.maximizers.trackers import Blend, extrapolated, smoothed
from compbo.types import DTYPE, Box, Budget, Draw, Inner
from maximizer_toys import LogToy, Toy, seeded, starts

TRACKED = [name for name, entry in CATALOGUE.items() if entry.tracker != "none"]
X = starts(1, 2, 2, seed=4)


def weight(name: str, t: int) -> float:
    """b_t: the part of the past that step t takes out of zeta, with the default hyperparameters."""
    entry = CATALOGUE[name]
    blend = entry.build(**entry.defaults).tracker.blend(t, 1.0)
    return 1 - blend.decay * blend.keep


FADING = [name for name in TRACKED if weight(name, 10**6) < 0.01 * weight(name, 1)]  # b_t -> 0


def tracker_of(name: str):
    """The entry's tracker; where b_t is a constant, 0.3, so that a wrong start is soon forgotten."""
    entry = CATALOGUE[name]
    numbers = entry.defaults if name in FADING or "beta" not in entry.defaults else {**entry.defaults, "beta": 0.3}
    climb = entry.build(**numbers)
    assert isinstance(climb, Ascent)
    return climb.tracker


def frozen_run(name: str, toy: Toy, watched: list[int], seed: int, wrong: float):
    """zeta (steps, q, M) after the watched steps while x stands still, and its target; zeta_0 is off by `wrong`."""
    tracker = tracker_of(name)
    toy.start(seeded(seed))
    first = toy.expectation_draw()
    mean, spread = toy.mean(X), toy.spread + toy.slope * (X**2).sum(-1, keepdim=True)
    truth = mean + spread * first.z
    memory = PoolMemory(truth + wrong, toy) if toy.pool else FreshMemory(truth + wrong)
    path = []
    for t in range(1, watched[-1] + 1):
        draw = toy.draw()
        v = mean + spread * draw.z
        zeta = memory.update(tracker.blend(t, memory.pool_size / draw.size), draw, v, v)  # u = x while x stands still
        if t in watched:
            path.append((memory.read(first) if toy.pool else zeta)[0].clone())
    return torch.stack(path), (truth if toy.pool else mean)[0]


def test_which_trackers_look_at_a_second_point():
    """One more forward pass in the same batch: extrapolation and the two that compare with the point before."""
    second = {CATALOGUE[name].tracker: tracker_of(name).query is not None for name in TRACKED}
    expected = {"smoothed": False, "selective": False, "extrapolated": True, "corrected": True, "multiblock": True}
    assert {name: second[name] for name in expected} == expected


@pytest.mark.parametrize("name", TRACKED)
def test_the_query_of_a_point_that_stands_still_is_that_point(name):
    query = tracker_of(name).query
    assert query is None or torch.allclose(query(3, X, X), X, rtol=0, atol=1e-15)


@pytest.mark.parametrize("pooled", [True, False], ids=["pool", "fresh"])
@pytest.mark.parametrize("name", TRACKED)
def test_frozen_x_gives_the_expectation(name, pooled):
    """Time averages over independent runs: within 4 standard errors of v_m (pool), of E_z[v] (fresh), every column."""
    toy = Toy(2, K=4, pool=8 if pooled else None, spread=0.5)
    watched, runs = list(range(150, 210, 3)), 12
    errors = []
    for seed in range(runs):
        path, target = frozen_run(name, toy, watched, seed, wrong=0.2)
        errors.append((path - target).mean(0))
    error = torch.stack(errors)
    standard_error = error.std(0) / math.sqrt(runs)
    assert (error.mean(0).abs() <= 4 * standard_error + 1e-9).all()


def test_the_weights_that_fade_are_those_of_the_paper():
    assert set(FADING) >= {"SCGA", "ASCGA", "NASA", "NASA-ME"}
    assert not {"CAdam", "CAdam-ME", "SCSC", "SOX", "MSVR"} & set(FADING)
    for name, exponent in {"SCGA": 1 / 2, "ASCGA": 4 / 7, "NASA": 0.6}.items():
        assert weight(name, 1000) / weight(name, 10) == pytest.approx(100**-exponent)


@pytest.mark.parametrize("pooled", [True, False], ids=["pool", "fresh"])
@pytest.mark.parametrize("name", FADING)
def test_distance_shrinks_as_the_schedule_says(name, pooled):
    """The variance of zeta is of the order of b_t: t^-1/2 of SCGA means a distance of t^-1/4."""
    toy = Toy(2, K=4, pool=8 if pooled else None, spread=0.5)
    early, late = 15, 700
    windows = {t: list(range(t - 10, t + 10)) for t in (early, late)}
    squares = {early: [], late: []}
    for seed in range(6):
        path, target = frozen_run(name, toy, [*windows[early], *windows[late]], seed, wrong=0.0)
        for found, part in zip(squares.values(), path.split(20), strict=True):
            found.append(((part - target) ** 2).mean())
    distance = {t: float(torch.stack(found).mean().sqrt()) for t, found in squares.items()}
    expected = math.sqrt(weight(name, early) / weight(name, late))
    assert distance[early] / distance[late] > 0.6 * expected


@pytest.mark.parametrize("name", ["SOX", "MSVR"])
def test_selective_trackers_are_exact_where_the_columns_have_no_noise(name):
    path, truth = frozen_run(name, Toy(2, K=4, pool=8, spread=0.5), [200], 0, wrong=0.3)
    assert torch.allclose(path[-1], truth, atol=1e-6)


@pytest.mark.parametrize("name", ["SCSC", "SCSC-Adam", "MSVR"])
def test_corrected_trackers_follow_a_moving_point_at_once(name):
    """With all columns drawn and x moving, g(x_{t+1}) - g(x_t) carries zeta along: no lag, unlike smoothing."""
    tracker, lagging = tracker_of(name), smoothed(constant(0.3))
    toy = Toy(2, K=8, pool=8)
    toy.start(seeded())
    everything = toy.expectation_draw()
    x = starts(1, 2, 2)
    start = toy.inner(x, everything, 0).v
    memory, slow = PoolMemory(start, toy), PoolMemory(start, toy)
    for t in range(1, 30):
        x_next = x + 0.02
        draw = toy.draw()
        v, before = toy.inner(x_next, draw, 0).v, toy.inner(tracker.query(t, x, x_next), draw, 0).v
        memory.update(tracker.blend(t, 1.0), draw, v, before)
        slow.update(lagging.blend(t, 1.0), draw, v, v[:0])
        x = x_next
    truth = toy.inner(x, everything, 0).v
    assert torch.allclose(memory.read(everything), truth, atol=1e-10)
    assert (slow.read(everything) - truth).abs().max() > 1e-2


def test_extrapolation_is_exact_for_a_linear_map():
    """g(u) with u = (1-1/b) x + x'/b makes (1-b) g(x) + b g(u) = g(x'): no lag where g is linear."""
    tracker = extrapolated(constant(0.3))
    x, x_next = starts(1, 1, 3, seed=1), starts(1, 1, 3, seed=2)
    u = tracker.query(1, x, x_next)
    assert torch.allclose(0.7 * x + 0.3 * u, x_next, atol=1e-14)


# Which columns a step changes. -------------------------------------------------------------------------------------

SCALING = ["SCGA", "ASCGA", "CAdam", "NASA", "SCSC", "SCSC-Adam"]


def test_the_trackers_that_scale_can_do_without():
    """On fresh samples all columns are drawn: nothing is scaled, and there is nothing to choose."""
    assert {name for name in TRACKED if "zeta_update" in CATALOGUE[name].hyperparameters} == set(SCALING)
    assert {name for name in TRACKED if tracker_of(name).update is not None} == {*SCALING, "CAdam-ME", "NASA-ME"}


@pytest.mark.parametrize("name", SCALING)
@pytest.mark.parametrize(
    ("update", "homogeneous", "drawn"),
    [("auto", True, False), ("auto", False, True), ("paper", False, False), ("drawn", True, True)],
)
def test_drawn_columns_alone_or_all_of_them(name, update, homogeneous, drawn):
    """zeta_w = (1-b) zeta_w + b v(u; w) (SCSC: v(x') + (1-b) (zeta_w - v(x))), typed in; the other columns stay."""
    entry = CATALOGUE[name]
    tracker = entry.build(**{**entry.defaults, "zeta_update": update}).tracker.under(homogeneous)
    t, M, K = 7, 12, 3
    b = weight(name, t)
    toy = Toy(2, K=K, pool=M)
    before, v, u = starts(1, 2, M), starts(1, 2, K, seed=1), starts(1, 2, K, seed=2)
    memory, columns = PoolMemory(before, toy), torch.tensor([1, 4, 10])
    memory.update(tracker.blend(t, M / K), Draw(torch.zeros(2, K), columns), v, u)
    after = memory.read(Draw(torch.zeros(2, M), torch.arange(M)))
    new = v - (1 - b) * u if name.startswith("SCSC") else b * (v if tracker.query is None else u)
    expected = before.clone() if drawn else (1 - b) * before
    expected[..., columns] = (1 - b) * before[..., columns] + (1 if drawn else M / K) * new
    assert torch.allclose(after, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["SOX", "MSVR", "CAdam-ME", "NASA-ME"])
def test_the_other_trackers_are_the_same_under_every_utility(name):
    tracker = tracker_of(name)
    ratio = 1.0 if CATALOGUE[name].form == "ME" else 8.0
    for t in (1, 9):
        sound, other = (tracker.under(homogeneous).blend(t, ratio) for homogeneous in (True, False))
        assert (other.keep * other.decay, other[2:]) == (sound.keep * sound.decay, sound[2:])


# The memory. ------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    blends=st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=25
    ),
    seed=st.integers(0, 1000),
)
def test_memory_equals_a_dense_zeta(blends, seed):
    """Scalar decay, folding and drawn columns against zeta as one dense tensor, resets (decay 0) included."""
    generator = seeded(seed)
    toy = LogToy(2, K=3, pool=7)
    zeta = 1 + torch.rand(2, 2, 7, dtype=DTYPE, generator=generator)
    memory = PoolMemory(zeta, toy)
    dense = zeta.clone()
    for numbers in blends:
        columns = torch.randperm(7, generator=generator)[:3]
        v, u = torch.rand(2, 2, 2, 3, dtype=DTYPE, generator=generator)
        blend = Blend(*numbers)
        returned = memory.update(blend, Draw(torch.zeros(2, 3), columns), v, u)
        dense = blend.decay * dense
        dense[..., columns] = blend.keep * dense[..., columns] + blend.at_x * v + blend.at_query * u
        assert torch.allclose(returned, dense[..., columns], rtol=1e-9, atol=1e-12)
    everything = Draw(torch.zeros(2, 7), torch.arange(7))
    assert torch.allclose(memory.read(everything), dense, rtol=1e-9, atol=1e-12)
    assert torch.allclose(memory.mean_utility(), dense.amax(-2).mean(-1), rtol=1e-9, atol=1e-10)


class LateToy(Toy):
    """A toy that says v on other draws, and remembers of which columns it was asked for."""

    def inner(self, x, draw, gradient_rows=None) -> Inner:
        def v_on(other: Draw) -> torch.Tensor:
            self.asked += other.columns.unique().tolist()
            return Toy.inner(self, x, other).v

        self.asked = draw.columns.tolist()
        return super().inner(x, draw, gradient_rows)._replace(v_on=v_on)


@settings(max_examples=30)
@given(
    blends=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-2, 2)), min_size=1, max_size=25),
    pool=st.sampled_from([7, 48, 113]),
    seed=st.integers(0, 1000),
)
def test_late_columns_are_those_that_were_made_at_once(blends, pool, seed):
    """Decays and folds before a column is first drawn are made up for, also after some restarts have left."""
    toy, x, rows = LateToy(2, K=5, pool=pool), starts(4, 2, 3, seed=seed), torch.tensor([3, 1])
    toy.start(seeded(seed))
    everything = toy.expectation_draw()
    late, at_once = LatePoolMemory(x, toy), PoolMemory(toy.inner(x, everything).v, toy)
    made = toy.asked = list(range(max(0, pool - pool % 48 - 48), pool))
    drawn = set(made)
    for number, (decay, keep, at_x) in enumerate(blends):
        draw = toy.draw()
        drawn |= set(draw.columns.tolist())
        v = toy.inner(x, draw).v
        toy.asked = made
        new = [memory.update(Blend(decay, keep, at_x), draw, v, v[:0]) for memory in (late, at_once)]
        assert torch.allclose(*new, rtol=1e-12, atol=1e-200)
        if number == 3:
            late, at_once, x = late.only(rows), at_once.only(rows), x[rows]
    assert len(made) == len(drawn)
    assert set(made) == drawn
    assert late.pool_size == at_once.pool_size == pool
    assert torch.allclose(late.read(everything), at_once.read(everything), rtol=1e-12, atol=1e-200)


def test_a_thousand_strong_decays_do_not_overflow():
    toy = LogToy(2, K=3, pool=7)
    memory = PoolMemory(torch.ones(1, 2, 7, dtype=DTYPE), toy)
    draw = Draw(torch.zeros(2, 3), torch.tensor([0, 2, 4]))
    for _ in range(1000):
        v = torch.ones(1, 2, 3, dtype=DTYPE)
        zeta = memory.update(Blend(0.001, 1.0, 1.0), draw, v, v[:0])
    assert torch.allclose(zeta, torch.full_like(zeta, 1 / 0.999))
    assert torch.allclose(memory.mean_utility(), torch.full((1,), 3 / 0.999 / 7, dtype=DTYPE))


def test_a_pool_needs_draws_that_name_their_columns():
    memory = PoolMemory(torch.ones(1, 2, 7, dtype=DTYPE), Toy(2, K=3, pool=7))
    with pytest.raises(ValueError, match="columns"):
        memory.read(Draw(torch.zeros(2, 3)))


# What a step costs. -----------------------------------------------------------------------------------------------

VIEWS = ("permute", "view", "expand", "slice", "select", "unsqueeze", "detach", "transpose", "alias", "t.default")


class Touched(TorchDispatchMode):
    """Counts the elements that operations read or write; gathers and scatters count what they move."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = str(func)
        if "index_select" in name:
            self.elements += result.numel()
        elif "index_copy" in name:
            self.elements += args[3].numel()
        elif not any(view in name for view in VIEWS):
            tensors = [a for a in args if isinstance(a, torch.Tensor)]
            results = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, torch.Tensor)]
            self.elements += sum(tensor.numel() for tensor in [*tensors, *results])
        return result


class CheapDraws(Toy):
    """Minibatches drawn without looking at the whole pool."""

    def draw(self) -> Draw:
        columns = torch.arange(self.K) + torch.randint(self.pool - self.K, (1,), generator=self.generator)
        return Draw(self.z.index_select(1, columns), columns)


def elements_of_steps(name: str, pool: int, steps: int) -> int:
    """Elements that `steps` steps touch, the start (which looks at the pool once) taken out."""
    counts = []
    for count in (2, 2 + steps):
        with Touched() as touched:
            make_maximizer(name)(
                CheapDraws(2, K=4, pool=pool),
                starts(3, 2, 2),
                budget=Budget(count),
                box=Box.unit(2),
                generator=seeded(),
            )
        counts.append(touched.elements)
    return counts[1] - counts[0]


@pytest.mark.parametrize("name", [name for name in TRACKED if CATALOGUE[name].form == "Comp"])
def test_a_step_costs_the_same_whatever_the_pool(name):
    small, large = elements_of_steps(name, 64, 10), elements_of_steps(name, 64 * 256, 10)
    assert 0 < large <= 1.05 * small  # the number of times a best point is stored may differ


def test_the_count_would_notice_a_dense_decay():
    zeta = torch.ones(1000)
    with Touched() as touched:
        zeta.mul_(0.5)
    assert touched.elements >= 1000


def test_an_ascent_takes_any_rule_and_tracker():
    """The two are orthogonal: a rule of one name under the tracker of another."""
    for name in TRACKED:
        trace = run_within(
            Ascent(sga(constant(0.1)), tracker_of(name)),
            Toy(2, pool=12),
            starts(2, 2, 2),
            budget=Budget(5),
            box=Box.unit(2),
            generator=seeded(),
        )
        assert torch.isfinite(trace.final_value).all()
