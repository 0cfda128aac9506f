"""The memory that a proposal takes at its peak, counted array by array, beside what is stated."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples
from compbo.bo import verdict
from compbo.bo.peak import bytes_at_peak
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.kernels import MATERN52
from compbo.surrogate.posterior import GPPosterior, with_pending
from compbo.types import DTYPE, Budget


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of all arrays that were made while it is on and still exist."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for made in tree_leaves(out):
            if isinstance(made, torch.Tensor):
                self._count(made.untyped_storage())
        return out

    def _count(self, storage: torch.UntypedStorage) -> None:
        if storage._cdata not in self._sizes:
            self._sizes[storage._cdata] = storage.nbytes()
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._gone, storage._cdata)

    def _gone(self, storage: int) -> None:
        self.now -= self._sizes.pop(storage)


def gp(n: int, d: int) -> GPPosterior:
    x = torch.rand(n, d, dtype=DTYPE, generator=stream(0))
    lengthscale = torch.full((d,), 0.5, dtype=DTYPE)
    return GPPosterior(x, x.sum(-1), kernel=MATERN52, lengthscale=lengthscale, outputscale=1.0, noise=1e-3)


def test_live_bytes_counts_what_exists() -> None:
    with LiveBytes() as live:
        kept = torch.zeros(1000, dtype=DTYPE)
        kept[:10] += kept.view(10, 100).sum() * torch.ones(3000, dtype=DTYPE).sum()
        assert live.now < 9000
    assert 32_000 <= live.peak < 33_000


@pytest.mark.parametrize(
    ("name", "q", "n", "d", "steps", "waiting"),
    [
        ("CAdam-ME", 128, 20, 3, 3, 0),  # raw batches x q x q, or x q x K, would be 134 MB more
        ("CAdam-ME", 24, 400, 3, 2, 0),  # raw batches x q x n: 79 MB
        ("CAdam-ME", 24, 400, 3, 2, 8),  # the same beside pending points
        ("CAdam-ME", 32, 10, 100, 2, 0),  # level moves x q x d: 164 MB
        ("CAdam", 64, 20, 3, 64, 0),  # zeta twice: 134 MB
    ],
)
def test_a_proposal_stays_within_what_is_stated(
    monkeypatch: pytest.MonkeyPatch, name: str, q: int, n: int, d: int, steps: int, waiting: int
) -> None:
    monkeypatch.setattr(verdict, "_counts", lambda *_: False)  # the verdict takes every look
    posterior, maximizer = gp(n, d), make_maximizer(name)
    pending = torch.rand(waiting, d, dtype=DTYPE, generator=stream(1))
    moves = 0.1 * torch.cat([torch.eye(d, dtype=DTYPE), -torch.eye(d, dtype=DTYPE)])
    around = torch.full((4, d), 0.5, dtype=DTYPE)
    problem = AcquisitionProblem(posterior, UCB(), 1.0, around, pending, lambda point: (point + moves).clamp(0, 1))
    with LiveBytes() as live:
        propose(problem, q, maximizer=maximizer, generator=stream(2), budget=Budget(steps), starts=StartPolicy())
    samples = make_samples(maximizer.form, q + waiting, steps=steps)
    oracle = AcquisitionOracle(UCB(), with_pending(posterior, pending), samples, 1.0)
    limit = bytes_at_peak(oracle, StartPolicy(), tracked=True)
    assert 0.3 * limit < live.peak < limit


def stated(q: int, raw: int = 1024, n: int = 50, d: int = 4, pending: int = 0) -> int:
    posterior = gp(n, d)
    oracle = AcquisitionOracle(
        UCB(), with_pending(posterior, torch.zeros(pending, d, dtype=DTYPE)), make_samples("ME", q + pending), 0.0
    )
    return bytes_at_peak(oracle, StartPolicy(raw, 32), tracked=True)


def test_what_is_stated_grows_with_raw_batches_by_their_coordinates_alone() -> None:
    assert stated(128, raw=200_000) - stated(128, raw=100_000) == 1.5 * 8 * 100_000 * 128 * 4
    assert stated(128, raw=200_000, n=100) == stated(128, raw=200_000, n=50)


def test_what_is_stated_grows_with_the_observations_and_the_pending_points() -> None:
    assert stated(128, n=1000) - stated(128, n=500) == 2 * 32 * 128 * 24 * 500
    assert stated(64, n=1000, pending=64) > stated(64, n=1000)
