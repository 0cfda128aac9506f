"""Constraints between inputs, as BoTorch's `optimize_acqf` takes them: feasible candidates, as good as BoTorch's."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.acquisition.monte_carlo import qUpperConfidenceBound
from botorch.exceptions.errors import CandidateGenerationError
from botorch.optim import optimize_acqf as botorch_optimize_acqf
from botorch.optim.parameter_constraints import evaluate_feasibility, project_to_feasible_space_via_slsqp
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_problems import BEST, BOUNDS, QUIET, UNITS, gp, seeded, sobol
from compbo.integrations.botorch import gen_candidates, optimize_acqf
from compbo.integrations.botorch.constraints import checked_constraints
from compbo.integrations.botorch.frame import make_frame
from compbo.integrations.botorch.polytope import Polytope, nearest

pytestmark = QUIET

LIMITS = {"lower_bounds": BOUNDS[0], "upper_bounds": BOUNDS[1]}


def linear(indices: list[Any], coefficients: list[float], rhs: float) -> tuple[torch.Tensor, torch.Tensor, float]:
    return torch.tensor(indices), torch.tensor(coefficients, dtype=torch.float64), rhs


def in_the_ball(x: torch.Tensor) -> torch.Tensor:
    """About one point: within 0.3 of the corner, in units of the bounds."""
    return 0.09 - (x / UNITS).square().sum(-1)


def far_from_the_middle(x: torch.Tensor) -> torch.Tensor:
    """About one point, and the feasible set is not convex."""
    return (x / UNITS - 0.4).square().sum(-1) - 0.04


def apart(x: torch.Tensor) -> torch.Tensor:
    """About the batch: its two points are 0.3 apart."""
    return (x[0] / UNITS - x[1] / UNITS).square().sum() - 0.09


HALF = linear([0, 1], [-0.1, -1.0], -0.5)  # x0 / 10 + x1 <= 0.5
MIXTURE = linear([0, 1, 2], [0.1, 1.0, 0.01], 1.0)  # shares that sum to one
FIRST_BELOW_SECOND = linear([[0, 0], [1, 0]], [-1.0, 1.0], 4.0)  # the second point's x0 exceeds the first's by 4
SAME_LAST = linear([[0, 2], [1, 2]], [1.0, -1.0], 0.0)

LINEAR = {
    "inequality": {"inequality_constraints": [HALF]},
    "equality": {"equality_constraints": [MIXTURE]},
    "both": {"inequality_constraints": [HALF, linear([2], [1.0], 10.0)], "equality_constraints": [MIXTURE]},
    "between points": {"inequality_constraints": [HALF, FIRST_BELOW_SECOND], "equality_constraints": [SAME_LAST]},
}
NONLINEAR = {
    "convex": {"nonlinear_inequality_constraints": [(in_the_ball, True)]},
    "not convex": {"nonlinear_inequality_constraints": [(far_from_the_middle, True)]},
    "between points": {"nonlinear_inequality_constraints": [(in_the_ball, True), (apart, False)]},
    "and linear": {
        "nonlinear_inequality_constraints": [(far_from_the_middle, True), (apart, False)],
        "inequality_constraints": [HALF],
        "equality_constraints": [MIXTURE],
    },
}
MAXIMIZERS = ["CAdam-ME", "CAdam", "NASA", "Adam-ERM", "L-BFGS-B", "CL-BFGS-B", "CMA-ES", "DE", "RS"]


def acquisition(samples: int = 64) -> qUpperConfidenceBound:
    return qUpperConfidenceBound(gp(), 2.0, sobol(samples))


def slow_acquisition(samples: int = 64) -> qLogExpectedImprovement:
    """An outcome constraint that always holds keeps it off the fast path."""
    return qLogExpectedImprovement(gp(), BEST, sobol(samples), constraints=[lambda s: s[..., 0] - 99.0])


def feasible_starts(constraints: dict[str, Any], b: int = 4) -> torch.Tensor:
    """b batches of two points that satisfy the non-linear constraints, too."""
    raw = seeded(80_000, 2, 3, seed=3) * UNITS
    raw[::2] *= 0.3
    if "equality_constraints" in constraints:
        raw[..., 2] = (1.0 - raw[..., 0] / 10 - raw[..., 1]) * 100
        raw = raw[((raw >= BOUNDS[0]) & (raw <= BOUNDS[1])).flatten(1).all(1)]
    return torch.stack([x for x in raw[:3000] if bool(evaluate_feasibility(x[None], **constraints))][:b])


def assert_feasible(x: torch.Tensor, constraints: dict[str, Any]) -> None:
    assert bool(evaluate_feasibility(x, **constraints).all())
    assert bool((x >= BOUNDS[0]).all() and (x <= BOUNDS[1]).all())


@pytest.mark.parametrize("maximizer", MAXIMIZERS)
@pytest.mark.parametrize("name", LINEAR)
def test_linear_constraints_hold_from_any_start(maximizer: str, name: str) -> None:
    acqf, x0 = acquisition(), seeded(4, 2, 3, seed=9) * UNITS
    candidates, values = gen_candidates(maximizer, steps=12, minibatch=16)(x0, acqf, **LIMITS, **LINEAR[name])
    assert_feasible(candidates, LINEAR[name])
    with torch.no_grad():
        torch.testing.assert_close(values, acqf(candidates))


@pytest.mark.parametrize("maximizer", MAXIMIZERS)
@pytest.mark.parametrize("name", NONLINEAR)
def test_nonlinear_constraints_hold(maximizer: str, name: str) -> None:
    acqf, x0 = acquisition(), feasible_starts(NONLINEAR[name])
    assert len(x0) == 4
    candidates, values = gen_candidates(maximizer, steps=12, minibatch=16)(x0, acqf, **LIMITS, **NONLINEAR[name])
    assert_feasible(candidates, NONLINEAR[name])
    with torch.no_grad():
        torch.testing.assert_close(values, acqf(candidates))
        assert float(values.max()) > float(acqf(x0).max())


def assert_as_good(ours: torch.Tensor, theirs: torch.Tensor, make: Any, constraints: dict[str, Any]) -> None:
    """On a sample that neither has seen."""
    assert_feasible(torch.stack([ours, theirs]), constraints)
    with torch.no_grad():
        value, best = make(4096)(torch.stack([ours, theirs])).tolist()
    assert value > best - 0.01 * abs(best)


@pytest.mark.touches_global_rng
@pytest.mark.parametrize(
    ("maximizer", "make"),
    [("CAdam-ME", acquisition), ("CAdam-ME", slow_acquisition), ("Adam-ERM", acquisition), ("L-BFGS-B", acquisition)],
)
@pytest.mark.parametrize("name", LINEAR)
def test_as_good_as_botorchs_own_under_linear_constraints(maximizer: str, make: Any, name: str) -> None:
    call = {"bounds": BOUNDS, "q": 2, "num_restarts": 8, "raw_samples": 32, **LINEAR[name]}
    options = {"seed": 1, "n_burnin": 100}
    torch.manual_seed(0)  # BoTorch chooses start points with the global generator
    theirs, _ = botorch_optimize_acqf(make(), options={**options, "batch_limit": 1}, **call)
    numbers = {"lr": 0.1} if maximizer == "CAdam-ME" else {}
    torch.manual_seed(0)
    ours, value = optimize_acqf(make(), options={**options, "maxiter": 100}, maximizer=maximizer, **numbers, **call)
    assert_as_good(ours, theirs, make, LINEAR[name])
    with torch.no_grad():
        torch.testing.assert_close(value, make()(ours).squeeze())


@pytest.mark.touches_global_rng
@pytest.mark.parametrize("maximizer", ["CAdam-ME", "L-BFGS-B"])
@pytest.mark.parametrize("name", NONLINEAR)
def test_as_good_as_botorchs_own_under_nonlinear_constraints(maximizer: str, name: str) -> None:
    starts = feasible_starts(NONLINEAR[name])
    call = {"bounds": BOUNDS, "q": 2, "num_restarts": 4, "batch_initial_conditions": starts, **NONLINEAR[name]}
    theirs, _ = botorch_optimize_acqf(acquisition(), **call)
    numbers = {"lr": 0.1} if maximizer == "CAdam-ME" else {}
    ours, _ = optimize_acqf(acquisition(), options={"maxiter": 100}, maximizer=maximizer, **numbers, **call)
    assert_as_good(ours, theirs, acquisition, NONLINEAR[name])


@pytest.mark.touches_global_rng
def test_one_point_after_another() -> None:
    options = {"maxiter": 8, "n_burnin": 100}
    candidates, values = optimize_acqf(acquisition(), BOUNDS, 3, 2, 16, options, sequential=True, **LINEAR["both"])
    assert values.shape == (3,)
    assert_feasible(candidates.unsqueeze(0), LINEAR["both"])


@pytest.mark.touches_global_rng
@pytest.mark.parametrize("fixed", [{0: 2.0}, {-1: torch.tensor([50.0, 60.0, 50.0, 80.0])}, {1: 0.25, 2: 60.0}])
def test_with_fixed_features(fixed: dict[int, Any]) -> None:
    generate = gen_candidates(steps=8, minibatch=16)
    x0 = seeded(4, 2, 3, seed=9) * UNITS
    candidates, _ = generate(x0, acquisition(), **LIMITS, fixed_features=fixed, **LINEAR["both"])
    assert_feasible(candidates, LINEAR["both"])
    for index, value in fixed.items():
        expected = torch.as_tensor(value).double().reshape(-1, 1).expand(4, 2)
        assert torch.equal(candidates[..., index], expected)


def test_fixed_features_that_violate_a_constraint_are_named() -> None:
    x0 = seeded(4, 2, 3, seed=9) * UNITS
    with pytest.raises(CandidateGenerationError, match="the fixed features alone decide it"):
        gen_candidates()(x0, acquisition(), **LIMITS, fixed_features={0: 9.0, 1: 0.9}, **LINEAR["inequality"])


def test_starts_that_violate_a_nonlinear_constraint_are_mended_or_refused() -> None:
    x0, constraints = seeded(4, 2, 3, seed=9) * UNITS, NONLINEAR["convex"]
    generate = gen_candidates(steps=4, minibatch=16)
    assert not bool(evaluate_feasibility(x0, **constraints).any())
    assert_feasible(generate(x0, acquisition(), **LIMITS, **constraints)[0], constraints)
    nowhere = {"nonlinear_inequality_constraints": [(lambda x: -1.0 - x.square().sum(), True)]}
    with pytest.raises(CandidateGenerationError, match="pass feasible batch_initial_conditions"):
        generate(x0, acquisition(), **LIMITS, **nowhere)
    here = {"nonlinear_inequality_constraints": [(lambda x: -1.0 + 2.0 * (x - x0[0, 0]).eq(0).all().double(), True)]}
    x0[0, 1] = x0[0, 0]
    candidates, values = generate(x0, acquisition(), **LIMITS, **here)
    assert torch.equal(candidates[0], x0[0])
    assert torch.isfinite(values).tolist() == [True, False, False, False]


@pytest.mark.touches_global_rng
def test_all_restarts_together_under_nonlinear_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    original = qUpperConfidenceBound.forward

    def counted(self: object, X: torch.Tensor) -> torch.Tensor:
        sizes.append(len(X))
        return original(self, X)

    monkeypatch.setattr(qUpperConfidenceBound, "forward", counted)
    call = partial(optimize_acqf, acquisition(), BOUNDS, 2, 4, options={"maxiter": 2})
    call(batch_initial_conditions=feasible_starts(NONLINEAR["convex"]), **NONLINEAR["convex"])
    assert max(sizes) == 4


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"inequality_constraints": [linear([0, 3], [1.0, 1.0], 0.0)]}, "not one of 0 to 2"),
        ({"equality_constraints": [linear([[2, 0]], [1.0], 0.0)]}, "a point that is not one of 0 to 1"),
        ({"equality_constraints": [linear([0, 1], [1.0], 0.0)]}, "2 indices need as many coefficients, got 1"),
        ({"inequality_constraints": [linear([[[0]]], [1.0], 0.0)]}, "indices must have shape k, or k x 2"),
        ({"inequality_constraints": [in_the_ball]}, r"a tuple \(indices, coefficients, rhs\)"),
        ({"nonlinear_inequality_constraints": [in_the_ball]}, r"a tuple \(callable, whether it is about one point\)"),
    ],
)
def test_malformed_constraints_are_named(constraints: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gen_candidates()(seeded(4, 2, 3), acquisition(), **LIMITS, **constraints)


def test_what_does_not_go_together_is_refused() -> None:
    x0 = seeded(4, 2, 3)
    with pytest.raises(ValueError, match="rounder and constraints between inputs exclude each other"):
        gen_candidates(rounder=torch.round)(x0, acquisition(), **LIMITS, **LINEAR["inequality"])
    with pytest.raises(ValueError, match="gtol of L-BFGS-B has no meaning under constraints"):
        gen_candidates("L-BFGS-B", gtol=1e-3)(x0, acquisition(), **LIMITS, **LINEAR["inequality"])


def test_a_timeout_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps past the limit in the middle of the first restart."""
    now = iter(range(0, 100_000, 10))
    monkeypatch.setattr("compbo.maximizers.budget.time.perf_counter", lambda: float(next(now)))
    acqf, x0 = acquisition(), feasible_starts(LINEAR["inequality"])
    candidates, values = gen_candidates("L-BFGS-B")(x0, acqf, **LIMITS, timeout_sec=130.0, **LINEAR["inequality"])
    assert_feasible(candidates, LINEAR["inequality"])
    with torch.no_grad():
        before = acqf(x0)
    assert float(values[0]) > float(before[0])
    torch.testing.assert_close(values[-1], before[-1])


def test_the_projection_is_botorchs_own_quadratic_program() -> None:
    x = seeded(5, 2, 3, seed=1) * UNITS
    for constraints in LINEAR.values():
        given = checked_constraints(
            constraints.get("inequality_constraints"), constraints.get("equality_constraints"), None, 2, 3
        )
        unit = torch.ones(3).double()
        frame = make_frame(x, 0 * UNITS - 0.0, UNITS, {}, None, given)
        projected = frame.box.project(x / UNITS) * UNITS
        scaled = {
            name: [(i, c * UNITS[i if i.ndim == 1 else i[:, 1]], rhs) for i, c, rhs in given_list]
            for name, given_list in constraints.items()
        }
        expected = project_to_feasible_space_via_slsqp(x / UNITS, torch.stack([0 * unit, unit]), **scaled) * UNITS
        torch.testing.assert_close(projected, expected, rtol=0, atol=1e-5 * float(UNITS.max()))


def test_a_gradient_keeps_what_leads_to_feasible_points() -> None:
    """On a plane nothing of its normal is left, at a border nothing that crosses it, inside everything."""
    x = torch.tensor([[[2.0, 0.3, 50.0]], [[2.0, 0.1, 70.0]], [[0.0, 0.4, 60.0]]]).double()
    given = checked_constraints(
        *(LINEAR["both"][f"{kind}_constraints"] for kind in ("inequality", "equality")), None, 1, 3
    )
    region = make_frame(x, 0.0 * UNITS, UNITS, {}, None, given).box
    gradient = torch.tensor([3.0, 2.0, 1.0]).double().expand(3, 1, 3)
    found = region.tangent(x / UNITS, gradient)[:, 0]
    torch.testing.assert_close(found[0], torch.tensor([0.5, -0.5, 0.0]).double())  # x0 / 10 + x1 = 0.5 binds, too
    torch.testing.assert_close(found[1], torch.tensor([1.0, 0.0, -1.0]).double())
    torch.testing.assert_close(found[2], torch.tensor([1.0, 0.0, -1.0]).double())
    inward = region.tangent(x / UNITS, -gradient)[:, 0]
    torch.testing.assert_close(inward[0], torch.tensor([-1.0, 0.0, 1.0]).double())
    torch.testing.assert_close(inward[2], torch.tensor([0.0, -0.5, 0.5]).double())  # x0 = 0 binds


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), far=st.booleans())
def test_the_projection_is_the_nearest_feasible_point(seed: int, far: bool) -> None:
    """y - P(y) makes no acute angle with the way from P(y) to any feasible point."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=random)

    d, m = (int(torch.randint(1, top, (1,), generator=random)) for top in (8, 4))
    matrix = torch.nn.functional.normalize(normal(1, m, d), dim=-1)
    inside = torch.rand(1, d, dtype=torch.float64, generator=random)
    bound = (matrix @ inside[..., None]).squeeze(-1) - 0.2 * normal(1, m).abs()
    polytope = Polytope(
        matrix, bound, torch.zeros(m, dtype=torch.bool), torch.zeros(d).double(), torch.ones(d).double()
    )
    y = inside + (10.0 if far else 0.5) * normal(1, d)
    u = nearest(polytope, y)
    assert float(polytope.violation(u).max()) < 1e-9
    others = torch.rand(500, d, dtype=torch.float64, generator=random)
    everywhere = polytope._replace(bound=bound.expand(500, -1))
    others = torch.cat([inside, others[(everywhere.violation(others) == 0).all(-1)]])
    assert float(((y - u) * (others - u)).sum(-1).max()) < 1e-7
