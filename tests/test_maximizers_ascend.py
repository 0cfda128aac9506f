"""The loop: against slow textbook transcriptions, and what it does when something breaks or runs out."""

from __future__ import annotations

import math

import pytest
import torch

from compbo.maximizers import CATALOGUE, get_entry, make_maximizer
from compbo.maximizers.budget import Clock
from compbo.types import DTYPE, Box, Budget, Status
from maximizer_toys import CENTRE, LogToy, Toy, seeded, starts

STEPS = 12
GRADIENT_METHODS = [name for name, entry in CATALOGUE.items() if entry.order == 1]


# Slow transcriptions of the formulas: plain numbers, plain loops, zeta as a dense list of M columns. -------------


class Textbook:
    """SPEC's formulas on the toy problem, one restart at a time."""

    memoryless = False

    def __init__(self, toy: Toy, h: dict[str, float], log: bool = False) -> None:
        self.toy, self.h, self.log = toy, h, log

    def v(self, x, z):
        """The q values of one column."""
        offset = 3.0 if self.log else 0.0
        return [
            offset
            - sum((xi - CENTRE) ** 2 for xi in point)
            + (self.toy.spread + self.toy.slope * sum(xi**2 for xi in point)) * z[j]
            for j, point in enumerate(x)
        ]

    def gradient(self, x, zeta, columns, z):
        """J_g(x; w)^T grad f(zeta): (M/K) (1/M) at the winner of zeta in every drawn column."""
        counted = columns if self.memoryless else range(len(zeta))
        level = sum(max(zeta[m]) for m in counted) / len(counted)
        total = [[0.0] * len(point) for point in x]
        for k, m in enumerate(columns):
            j = max(range(len(x)), key=lambda i: zeta[m][i])
            weight = 1 / len(columns) / (level if self.log else 1.0)
            for i, xi in enumerate(x[j]):
                total[j][i] += weight * (-2 * (xi - CENTRE) + 2 * self.toy.slope * xi * z[k][j])
        return total

    def run(self, x, draws, pool):
        """x_2 ... x_{T+1} from x_1; draws are (columns, z) of steps 1, 2, ...; pool the z of every column, or None."""
        self.m = [[0.0] * len(point) for point in x]
        self.square = [[0.0] * len(point) for point in x]
        columns, z = draws[0]
        zeta = [self.v(x, zm) for zm in (pool if pool is not None else z)]
        path = []
        for t in range(1, STEPS + 1):
            gradient = self.gradient(x, zeta, columns, z)
            x_next = self.step(t, x, gradient)
            if t < len(draws):
                columns, z = draws[t]
                zeta = self.track(t, zeta, x, x_next, columns, z)
            x = x_next
            path.append(x)
        return path

    def smooth(self, zeta, b, u, columns, z):
        """(1 - b) zeta + b g(u), g(u) = (M/K) v in the drawn columns and 0 elsewhere."""
        estimate = [[0.0] * len(u) for _ in zeta]
        for k, m in enumerate(columns):
            estimate[m] = [len(zeta) / len(columns) * value for value in self.v(u, z[k])]
        return [
            [(1 - b) * old + b * new for old, new in zip(zm, em, strict=True)]
            for zm, em in zip(zeta, estimate, strict=True)
        ]

    @staticmethod
    def extrapolate(b, x, x_next):
        return [[(1 - 1 / b) * a + c / b for a, c in zip(p, r, strict=True)] for p, r in zip(x, x_next, strict=True)]


def project(value: float) -> float:
    return min(1.0, max(0.0, value))


def coordinates(x):
    return [(j, i) for j in range(len(x)) for i in range(len(x[0]))]


class AdamOSRule(Textbook):
    def step(self, t, x, G):
        h = self.h
        g1 = h["C_gamma"] * h["mu"] ** (h["mu_d"] * t)
        g2 = 1 - h["lr"] * t ** (-h["gamma2_d"]) * (1 - g1) ** 2
        new = [list(point) for point in x]
        for j, i in coordinates(x):
            self.m[j][i] = g1 * self.m[j][i] + (1 - g1) * G[j][i]
            self.square[j][i] = g2 * self.square[j][i] + (1 - g2) * G[j][i] ** 2
            step = h["lr"] * t ** (-h["alpha_d"]) * math.sqrt(1 - g2) / (1 - g1)
            new[j][i] = project(x[j][i] + step * self.m[j][i] / (math.sqrt(self.square[j][i]) + h["eps"]))
        return new


class AdamOS(AdamOSRule):
    memoryless = True

    def track(self, t, zeta, x, x_next, columns, z):
        """zeta = g(x_t; w_t)."""
        fresh = [[math.nan] * len(x) for _ in zeta]
        for k, m in enumerate(columns):
            fresh[m] = self.v(x_next, z[k])
        return fresh


class CAdam(AdamOSRule):
    def track(self, t, zeta, x, x_next, columns, z):
        return self.smooth(zeta, self.h["beta"], self.extrapolate(self.h["beta"], x, x_next), columns, z)


class SOX(AdamOSRule):
    def track(self, t, zeta, x, x_next, columns, z):
        beta, new = self.h["beta"], [list(column) for column in zeta]
        for k, m in enumerate(columns):
            new[m] = [(1 - beta) * old + beta * v for old, v in zip(zeta[m], self.v(x_next, z[k]), strict=True)]
        return new


class MSVR(AdamOSRule):
    def track(self, t, zeta, x, x_next, columns, z):
        beta, new = self.h["beta"], [list(column) for column in zeta]
        M, K = len(zeta), len(columns)
        gamma = (M - K) / (K * (1 - beta)) + (1 - beta)
        for k, m in enumerate(columns):
            here, before = self.v(x_next, z[k]), self.v(x, z[k])
            new[m] = [
                (1 - beta) * old + beta * v + gamma * (v - p) for old, v, p in zip(zeta[m], here, before, strict=True)
            ]
        return new


class NASA(Textbook):
    def tau(self, t):
        a, b = self.h["a"], self.h["b"]
        return min(1, 1 / a, 1 / b, 1 / (a * t ** self.h["gamma"]))

    def step(self, t, x, G):
        tau, a, beta = self.tau(t), self.h["a"], self.h["beta"]
        new = [list(point) for point in x]
        for j, i in coordinates(x):
            self.m[j][i] = (1 - a * tau) * self.m[j][i] + a * tau * G[j][i]
            new[j][i] = x[j][i] + tau * (project(x[j][i] + self.m[j][i] / beta) - x[j][i])
        return new

    def track(self, t, zeta, x, x_next, columns, z):
        return self.smooth(zeta, self.h["b"] * self.tau(t), x_next, columns, z)


class SCGA(Textbook):
    def step(self, t, x, G):
        alpha = self.h["lr"] * t ** -self.h["lr_d"]
        return [[project(x[j][i] + alpha * G[j][i]) for i in range(len(x[0]))] for j in range(len(x))]

    def track(self, t, zeta, x, x_next, columns, z):
        return self.smooth(zeta, self.h["beta"] * t ** -self.h["beta_d"], x_next, columns, z)


class ASCGA(SCGA):
    def track(self, t, zeta, x, x_next, columns, z):
        b = self.h["beta"] * t ** -self.h["beta_d"]
        return self.smooth(zeta, b, self.extrapolate(b, x, x_next), columns, z)


class SCSC(SCGA):
    def track(self, t, zeta, x, x_next, columns, z):
        """zeta = g(x_{t+1}; w) + (1 - beta) (zeta - g(x_t; w))."""
        beta = self.h["beta"]
        zero = [[0.0] * len(x) for _ in zeta]
        here, before = self.smooth(zero, 1.0, x_next, columns, z), self.smooth(zero, 1.0, x, columns, z)
        return [
            [n + (1 - beta) * (old - p) for n, old, p in zip(nm, om, pm, strict=True)]
            for nm, om, pm in zip(here, zeta, before, strict=True)
        ]


CASES = [
    ("AdamOS-ERM", AdamOS, None, {"lr": 0.2, "mu": 0.7, "C_gamma": 0.8, "alpha_d": 0.3, "mu_d": 1.1, "gamma2_d": 0.6}),
    ("AdamOS-FSM", AdamOS, 12, {"lr": 0.3}),
    ("CAdam", CAdam, 12, {"lr": 0.3, "beta": 0.4, "mu": 0.8}),
    ("CAdam", CAdam, 12, {"lr": 0.3, "beta": 1.0}),
    ("CAdam-ME", CAdam, None, {"lr": 0.3, "beta": 0.2, "C_gamma": 0.6}),
    ("NASA", NASA, 12, {"a": 2.0, "b": 3.0, "beta": 0.7, "gamma": 0.7}),
    ("NASA", NASA, 12, {"a": 1.0, "b": 1.0}),  # b tau_1 = 1 forgets zeta_0 altogether
    ("NASA-ME", NASA, None, {"a": 0.5, "b": 0.4, "beta": 2.0}),
    ("SCGA", SCGA, 12, {"lr": 0.4, "lr_d": 0.6, "beta": 0.9, "beta_d": 0.3}),
    ("ASCGA", ASCGA, 12, {"lr": 0.4, "beta": 0.7}),
    ("SCSC", SCSC, 12, {"lr": 0.3, "lr_d": 0.4, "beta": 0.4}),
    ("SOX", SOX, 12, {"lr": 0.3, "beta": 0.6}),
    ("MSVR", MSVR, 12, {"lr": 0.3, "beta": 0.25}),
]


@pytest.mark.parametrize("log", [False, True], ids=["max", "log"])
@pytest.mark.parametrize(("name", "textbook", "pool", "given"), CASES)
def test_loop_equals_the_textbook(name, textbook, pool, given, log):
    toy_class = LogToy if log else Toy
    x0 = starts(3, 2, 2, seed=7)
    maximizer = make_maximizer(name, **given)
    trace = maximizer(
        toy_class(2, pool=pool), x0, budget=Budget(STEPS), box=Box.unit(2), generator=seeded(3), record=True
    )

    toy = toy_class(2, pool=pool)
    toy.start(seeded(3))
    drawn = [toy.draw() for _ in range(STEPS)]
    draws = [(range(4) if d.columns is None else d.columns.tolist(), d.z.mT.tolist()) for d in drawn]
    everything = None if pool is None else toy.z.mT.tolist()
    for restart in range(3):
        book = textbook(toy, dict(maximizer.hyperparameters), log)
        path = book.run(x0[restart].tolist(), draws, everything)
        assert torch.allclose(trace.points[:, restart], torch.tensor(path, dtype=DTYPE), rtol=1e-9, atol=1e-12), (
            f"restart {restart}"
        )


# One evaluation per step, and what the trace says. ----------------------------------------------------------------


@pytest.mark.parametrize("name", GRADIENT_METHODS)
def test_a_step_is_one_evaluation(name):
    toy = Toy(2, pool=12 if get_entry(name).samples == "minibatch" else None)
    make_maximizer(name)(toy, starts(3, 2, 2), budget=Budget(6), box=Box.unit(2), generator=seeded())
    tracker = get_entry(name).build(**get_entry(name).defaults).tracker
    whole_pool = [(3, 0)] if tracker.remembers and toy.pool else []
    in_between = [(3 if tracker.query is None else 6, 3)] * 5
    assert toy.calls == [(3, 3), *whole_pool, *in_between, (3, 0)]


@pytest.mark.parametrize("name", GRADIENT_METHODS)
def test_trace_tells_what_happened(name):
    toy = Toy(2, pool=12 if get_entry(name).samples == "minibatch" else None)
    trace = make_maximizer(name)(
        toy, starts(3, 2, 2), budget=Budget(6), box=Box.unit(2), generator=seeded(), record=True
    )
    assert trace.status == (Status.DONE,) * 3
    assert trace.steps == 6
    assert torch.equal(trace.points[-1], trace.final)
    assert torch.equal(trace.values[-1], trace.final_value)
    every = torch.cat([trace.start_value[None], trace.values])
    assert torch.equal(trace.best_value, every.amax(0))
    points = torch.cat([starts(3, 2, 2)[None], trace.points])
    for restart in range(3):
        assert torch.equal(trace.best[restart], points[every[:, restart].argmax(), restart])
    assert torch.isfinite(trace.gradient_norm).all()


def test_query_is_built_from_the_projected_point_and_may_leave_the_box():
    toy = Toy(1, slope=0.0)
    x0 = torch.full((1, 1, 2), 0.95, dtype=DTYPE)
    toy.mean = lambda x: 100 * x.sum(-1, keepdim=True)
    trace = make_maximizer("ASCGA", lr=0.0004, lr_d=0.0, beta=0.1, beta_d=0.0)(
        toy, x0, budget=Budget(2), box=Box.unit(2), generator=seeded(), record=True
    )
    x_next, query = toy.points[1]
    assert torch.equal(x_next[None], trace.points[0])
    assert torch.allclose(query, 10 * x_next - 9 * x0[0])


def test_extrapolation_far_outside_the_box_stays_finite():
    toy = Toy(2)
    trace = make_maximizer("CAdam-ME", lr=1.0, beta=0.001)(
        toy, starts(2, 2, 2), budget=Budget(20), box=Box.unit(2), generator=seeded()
    )
    assert max(float(points.abs().max()) for points in toy.points) > 10
    assert all(torch.isfinite(points).all() for points in toy.points)
    assert trace.status == (Status.DONE, Status.DONE)


# What breaks, breaks alone. ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRADIENT_METHODS)
@pytest.mark.parametrize("how", ["marked", "not finite", "at the start"])
def test_a_failed_restart_is_frozen_and_disturbs_nobody(name, how):
    pool = 12 if get_entry(name).samples == "minibatch" else None
    x0 = starts(3, 2, 2)
    reach = -1.0 if how == "at the start" else 0.02

    def breaks(x):
        """Restart 1 has no posterior further than `reach` from its start (its rows in every batch)."""
        row = torch.arange(len(x)) % 3 == 1
        return row & ((x - x0[1]).norm(dim=(1, 2)) > reach)

    class Quiet(Toy):
        """Says nothing: the columns are just not finite."""

        def inner(self, x, draw, gradient_rows=None):
            inner = super().inner(x, draw, gradient_rows)
            return inner._replace(failed=torch.zeros_like(inner.failed)) if how == "not finite" else inner

    def run(toy):
        budget = Budget(40)
        return make_maximizer(name)(toy, x0, budget=budget, box=Box.unit(2), generator=seeded(), record=True)

    whole, broken = run(Toy(2, pool=pool)), run(Quiet(2, pool=pool, breaks=breaks))
    assert broken.status == (Status.DONE, Status.FAILED, Status.DONE)
    for restart in (0, 2):
        assert torch.equal(whole.points[:, restart], broken.points[:, restart])
        assert torch.equal(whole.best_value[restart], broken.best_value[restart])
    assert torch.isfinite(broken.final).all()
    assert torch.equal(broken.final[1], broken.best[1])
    if how == "at the start":
        assert torch.equal(broken.best[1], x0[1])
        assert broken.best_value[1].isnan()
    else:
        assert torch.isfinite(broken.best_value[1])
        assert broken.final_value[1] == broken.best_value[1]


def test_a_gradient_that_is_not_finite_freezes_its_restart():
    class Steep(Toy):
        def inner(self, x, draw, gradient_rows=None):
            inner = super().inner(x, draw, gradient_rows)

            def pullback(c):
                gradient = inner.pullback(c)
                gradient[0] = torch.inf
                return gradient

            return inner._replace(pullback=pullback)

    for name in GRADIENT_METHODS:
        pool = 12 if get_entry(name).samples == "minibatch" else None
        trace = make_maximizer(name)(
            Steep(2, pool=pool), starts(2, 2, 2), budget=Budget(4), box=Box.unit(2), generator=seeded()
        )
        assert trace.status == (Status.FAILED, Status.DONE), name
        assert torch.equal(trace.final[0], starts(2, 2, 2)[0]), name


def test_the_loop_stops_when_every_restart_has_failed():
    toy = Toy(2, breaks=lambda x: torch.ones(len(x), dtype=torch.bool))
    trace = make_maximizer("Adam-ERM")(toy, starts(2, 2, 2), budget=Budget(50), box=Box.unit(2), generator=seeded())
    assert trace.status == (Status.FAILED, Status.FAILED)
    assert trace.steps == 0
    assert len(toy.calls) == 1
    assert torch.equal(trace.best, starts(2, 2, 2))


def test_a_query_without_a_value_is_replaced_by_the_point():
    """Only u breaks: the restart goes on, with zeta from x_{t+1}."""
    inside = Toy(2, breaks=lambda x: ((x < 0) | (x > 1)).any(-1).any(-1))
    trace = make_maximizer("CAdam-ME", lr=1.0, beta=0.01)(
        inside, starts(2, 2, 2), budget=Budget(20), box=Box.unit(2), generator=seeded()
    )
    assert any(((p < 0) | (p > 1)).any() for p in inside.points)
    assert trace.status == (Status.DONE, Status.DONE)
    assert torch.isfinite(trace.final_value).all()


# Budgets. ---------------------------------------------------------------------------------------------------------

ALL = list(CATALOGUE)


@pytest.mark.parametrize("name", ALL)
def test_time_gives_the_best_so_far(name, monkeypatch):
    looks = iter([False, False, False])
    monkeypatch.setattr(Clock, "expired", lambda self: next(looks, True))
    pool = 12 if get_entry(name).form in ("Comp", "FSM") else None
    trace = make_maximizer(name)(
        Toy(2, pool=pool),
        starts(6, 2, 2),
        budget=Budget(1000, seconds=60.0),
        box=Box.unit(2),
        generator=seeded(),
        record=True,
    )
    assert trace.status == (Status.TIME,) * 6
    assert 0 < trace.steps <= 4
    assert trace.values.shape == (trace.steps, 6)
    assert trace.points.shape == (trace.steps, 6, 2, 2)
    assert torch.isfinite(trace.best_value).all()
    assert trace.best_value.max() >= trace.start_value.max()


@pytest.mark.parametrize("name", ALL)
def test_no_time_at_all_still_gives_the_start_points_with_values(name):
    pool = 12 if get_entry(name).form in ("Comp", "FSM") else None
    x0 = starts(6, 2, 2)
    trace = make_maximizer(name)(
        Toy(2, pool=pool), x0, budget=Budget(1000, seconds=1e-9), box=Box.unit(2), generator=seeded()
    )
    assert set(trace.status) == {Status.TIME}
    assert trace.steps <= 1
    assert torch.isfinite(trace.start_value).all()
    assert torch.isfinite(trace.best_value).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("limit", [3, 1], ids=["some rows fit", "no row fits"])
def test_what_does_not_fit_returns_the_start_points(name, limit):
    toy = Toy(2, pool=12 if get_entry(name).form in ("Comp", "FSM") else None)
    toy.bytes_per_restart = 2
    x0 = starts(6, 2, 2)
    trace = make_maximizer(name)(
        toy, x0, budget=Budget(5, memory=limit), box=Box.unit(2), generator=seeded(), record=True
    )
    assert trace.status == (Status.MEMORY,) * 6
    assert torch.equal(trace.best, x0)
    assert torch.equal(trace.final, x0)
    assert trace.steps == 0
    assert torch.isfinite(trace.best_value).all() == (limit == 3)
    assert trace.best_value.isnan().all() == (limit == 1)
    assert all(rows <= 1 for rows, _ in toy.calls)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("after", [0, 4])
def test_memory_that_runs_out_is_a_status(name, after):
    class Hungry(Toy):
        def inner(self, x, draw, gradient_rows=None):
            if len(self.calls) >= after and len(x) > 1:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory")
            return super().inner(x, draw, gradient_rows)

    toy = Hungry(2, pool=12 if get_entry(name).form in ("Comp", "FSM") else None)
    x0 = starts(6, 2, 2)
    trace = make_maximizer(name)(toy, x0, budget=Budget(50), box=Box.unit(2), generator=seeded())
    assert set(trace.status) == {Status.MEMORY}
    assert torch.isfinite(trace.best_value).all()
    assert (trace.steps > 0) == (after > 0)


@pytest.mark.parametrize("name", ALL)
def test_other_errors_are_not_swallowed(name):
    class Wrong(Toy):
        def inner(self, x, draw, gradient_rows=None):
            raise RuntimeError("shapes do not match")

    toy = Wrong(2, pool=12 if get_entry(name).form in ("Comp", "FSM") else None)
    with pytest.raises(RuntimeError, match="shapes"):
        make_maximizer(name)(toy, starts(6, 2, 2), budget=Budget(5), box=Box.unit(2), generator=seeded())
