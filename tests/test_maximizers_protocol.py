"""Every entry of the catalogue on every acquisition function, over a real posterior."""

from __future__ import annotations

import pytest
import torch

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import ACQUISITIONS, get_acquisition
from compbo.acquisition.samples import make_samples
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.surrogate.posterior import GPPosterior, with_pending
from compbo.types import DTYPE, Box, Budget, Status, Trace
from maximizer_toys import seeded, starts

D, N = 3, 12
STEPS = 3


@pytest.fixture(scope="module")
def posterior() -> GPPosterior:
    x = starts(1, N, D, seed=11)[0]
    y = -((x - 0.4) ** 2).sum(-1) + 0.1 * torch.sin(9 * x[:, 0])
    return GPPosterior(
        x,
        (y - y.mean()) / y.std(),
        kernel=_matern(),
        lengthscale=torch.full((D,), 0.6, dtype=DTYPE),
        outputscale=1.0,
        noise=1e-3,
    )


def _matern():
    from compbo.surrogate.kernels import get_kernel

    return get_kernel("matern52")


def run(
    name: str, posterior, acquisition: str, *, seed: int = 0, restarts: int = 4, q: int = 2, record: bool = True
) -> Trace:
    entry = CATALOGUE[name]
    samples = make_samples(entry.form, q + posterior.extra_points, minibatch=8, steps=STEPS)
    oracle = AcquisitionOracle(get_acquisition(acquisition), posterior, samples, best=0.5)
    return make_maximizer(name)(
        oracle,
        starts(restarts, q, D, seed=3),
        budget=Budget(STEPS),
        box=Box.unit(D),
        generator=seeded(seed),
        record=record,
    )


def same(a: Trace, b: Trace) -> bool:
    tensors = ("final", "final_value", "best", "best_value", "start_value", "values", "points")
    return all(torch.equal(getattr(a, t), getattr(b, t)) for t in tensors) and a.status == b.status


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_three_steps(name, acquisition, posterior):
    trace = run(name, posterior, acquisition)
    for tensor in (trace.final, trace.best):
        assert tensor.shape == (4, 2, D)
        assert tensor.dtype == DTYPE
        assert ((tensor >= 0) & (tensor <= 1)).all()
    for tensor in (trace.final_value, trace.best_value, trace.start_value):
        assert tensor.shape == (4,)
        assert tensor.dtype == DTYPE
        assert torch.isfinite(tensor).all()
    assert ((trace.points >= 0) & (trace.points <= 1)).all()
    assert trace.values.shape == (trace.steps, 4)
    assert trace.points.shape == (trace.steps, 4, 2, D)
    assert set(trace.status) <= {Status.DONE, Status.CONVERGED}
    assert trace.steps <= STEPS
    assert trace.best_value.max() >= trace.start_value.max()


@pytest.mark.parametrize("acquisition", ["ucb", "logei"])
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_generator_decides_everything(name, acquisition, posterior):
    first, again, other = (run(name, posterior, acquisition, seed=seed) for seed in (0, 0, 1))
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.parametrize(("restarts", "q"), [(1, 1), (1, 3), (4, 1)])
@pytest.mark.parametrize("name", CATALOGUE)
def test_one_point_and_one_restart(name, restarts, q, posterior):
    trace = run(name, posterior, "ei", restarts=restarts, q=q, record=False)
    assert trace.best.shape == (restarts, q, D)
    assert trace.values is None
    assert trace.points is None
    assert len(trace.status) == restarts


@pytest.mark.parametrize("name", CATALOGUE)
def test_pending_points_do_not_move(name, posterior):
    """Columns are wider than the batch: the pending points compete, and have no gradient."""
    trace = run(name, with_pending(posterior, starts(1, 2, D, seed=5)[0]), "ucb")
    assert trace.best.shape == (4, 2, D)
    assert torch.isfinite(trace.best_value).all()


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_failed_restart_disturbs_nobody(name, posterior):
    """Restart 2 has no factor where it starts; rank methods just rank it last."""
    start = starts(4, 2, D, seed=3)[2]

    class Broken:
        dim, extra_points = D, 0
        bytes_per_row = posterior.bytes_per_row

        def __call__(self, x, gradient_rows=None):
            batch = posterior(x, gradient_rows)
            bad = (x == start).all(-1).all(-1) & broken
            return batch._replace(failed=batch.failed | bad)

    broken = False
    whole = run(name, Broken(), "ucb")
    broken = True
    trace = run(name, Broken(), "ucb")
    assert torch.isfinite(trace.final).all()
    if CATALOGUE[name].order == 0:
        assert torch.isfinite(trace.best_value).all()
        return
    others = [0, 1, 3]
    assert trace.status[2] is Status.FAILED
    assert [trace.status[i] for i in others] == [whole.status[i] for i in others]
    if CATALOGUE[name].order == 1:  # L-BFGS-B evaluates the others in smaller batches: equal to rounding
        assert torch.equal(trace.points[:, others], whole.points[:, others])
    else:
        assert torch.allclose(trace.best[others], whole.best[others], atol=1e-6)


@pytest.mark.parametrize("name", CATALOGUE)
def test_another_box(name, posterior):
    """Bounds that are not the cube, one of them without width."""
    entry = CATALOGUE[name]
    box = Box(torch.tensor([0.2, 0.5, 0.1], dtype=DTYPE), torch.tensor([0.4, 0.5, 0.9], dtype=DTYPE))
    oracle = AcquisitionOracle(
        get_acquisition("ucb"), posterior, make_samples(entry.form, 2, minibatch=8, steps=STEPS), best=0.5
    )
    trace = make_maximizer(name)(
        oracle, starts(4, 2, D, seed=3), budget=Budget(STEPS), box=box, generator=seeded(), record=True
    )
    for tensor in (trace.final, trace.best, trace.points):
        assert ((tensor >= box.lower) & (tensor <= box.upper)).all()
