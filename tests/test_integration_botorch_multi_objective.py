"""Multi-objective acquisition functions under compbo's gradient methods."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from botorch.acquisition.multi_objective import logei
from botorch.acquisition.multi_objective.logei import (
    qLogExpectedHypervolumeImprovement,
    qLogNoisyExpectedHypervolumeImprovement,
)
from botorch.acquisition.multi_objective.monte_carlo import qExpectedHypervolumeImprovement
from botorch.optim import optimize_acqf as botorch_optimize_acqf
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning

from botorch_problems import BOUNDS, QUIET, UNITS, data, gp, seeded, sobol
from compbo.integrations.botorch import gen_candidates, optimize_acqf

# PyTorch, once, when BoTorch builds a sparse tensor for the noisy one
pytestmark = [QUIET, pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")]

LIMITS = {"lower_bounds": BOUNDS[0], "upper_bounds": BOUNDS[1]}
REFERENCE = torch.tensor([-0.8, -0.8]).double()


@pytest.fixture(autouse=True)
def _nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """BoTorch 0.18 compiles an extension when the first of these is made."""
    if hasattr(logei, "_load_attempted"):
        monkeypatch.setattr(logei, "_load_attempted", True)


def partitioning() -> FastNondominatedPartitioning:
    return FastNondominatedPartitioning(REFERENCE, data(outputs=2)[1])


def noisy(**kwargs: Any) -> qLogNoisyExpectedHypervolumeImprovement:
    return qLogNoisyExpectedHypervolumeImprovement(gp(2), REFERENCE, data()[0], sobol(32), **kwargs)


ACQUISITIONS = {
    "qLogNEHVI": noisy,
    "qLogNEHVI, pending": lambda: noisy(X_pending=data()[0][:1] + 0.1),
    "qLogEHVI": lambda: qLogExpectedHypervolumeImprovement(gp(2), REFERENCE, partitioning(), sobol(32)),
    "qEHVI": lambda: qExpectedHypervolumeImprovement(gp(2), REFERENCE, partitioning(), sobol(32)),
}


@pytest.mark.parametrize("name", ACQUISITIONS)
@pytest.mark.parametrize("maximizer", ["CAdam-ME", "CAdam", "Adam-FSM", "Adam-ERM", "L-BFGS-B", "CL-BFGS-B"])
def test_gradient_methods_climb_on_botorchs_own_gradient(name: str, maximizer: str) -> None:
    acqf, x0 = ACQUISITIONS[name](), seeded(3, 2, 3, seed=9) * UNITS
    candidates, values = gen_candidates(maximizer, steps=6)(x0, acqf, **LIMITS)
    assert bool((candidates >= BOUNDS[0]).all() and (candidates <= BOUNDS[1]).all())
    with torch.no_grad():
        torch.testing.assert_close(values, acqf(candidates))
        assert float(values.max()) > float(acqf(x0).max())


@pytest.mark.touches_global_rng
@pytest.mark.parametrize("maximizer", ["CAdam-ME", "L-BFGS-B"])
@pytest.mark.parametrize("name", ["qLogNEHVI", "qLogEHVI"])
def test_as_good_as_botorchs_own(name: str, maximizer: str) -> None:
    call = {"bounds": BOUNDS, "q": 2, "num_restarts": 4, "raw_samples": 32}
    _, best = botorch_optimize_acqf(ACQUISITIONS[name](), options={"seed": 1}, **call)
    options = {"seed": 1, "maxiter": 100}
    _, value = optimize_acqf(ACQUISITIONS[name](), options=options, maximizer=maximizer, **call)
    assert float(value) > float(best) - 0.05


@pytest.mark.touches_global_rng
def test_under_constraints_one_point_after_another() -> None:
    shares = [(torch.arange(3), 1 / UNITS, 1.0)]
    candidates, values = optimize_acqf(
        noisy(), BOUNDS, 2, 2, 8, {"maxiter": 4, "n_burnin": 100}, sequential=True, equality_constraints=shares
    )
    assert values.shape == (2,)
    assert float(((candidates / UNITS).sum(-1) - 1).abs().max()) < 1e-8


def test_the_methods_without_gradients_that_need_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="CMA-ES-Comp has no samples to work on; choose one of"):
        gen_candidates("CMA-ES-Comp")(seeded(3, 2, 3), noisy(), **LIMITS)
