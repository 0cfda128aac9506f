"""Threads: one by default, more where they are allowed and the work is large."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch
from threadpoolctl import ThreadpoolController

from compbo import OptionError
from compbo.threads import FLOPS_PER_THREAD, allowed_threads, lapack_threads_for, single_threaded_blas, threads_for

if TYPE_CHECKING:
    from collections.abc import Iterator


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two threads are there, and allowed."""
    before = torch.get_num_threads()
    monkeypatch.setenv("COMPBO_THREADS", "2")
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        torch.set_num_threads(2)
        yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
class TestThreads:
    def test_every_blas_is_limited_scipys_included(self) -> None:
        import scipy.linalg  # noqa: F401 - loads its own BLAS beside NumPy's

        before = blas_threads()
        with single_threaded_blas():
            assert blas_threads() == [1] * len(before)
            assert torch.get_num_threads() == 2
        assert blas_threads() == before
        assert torch.get_num_threads() == 2

    def test_blas_comes_back_after_an_error(self) -> None:
        before = blas_threads()
        with pytest.raises(KeyError), single_threaded_blas():
            raise KeyError
        assert blas_threads() == before
        assert torch.get_num_threads() == 2

    def test_small_work_takes_one_thread(self) -> None:
        with threads_for(2 * FLOPS_PER_THREAD - 1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2

    def test_large_work_takes_all(self) -> None:
        with threads_for(2 * FLOPS_PER_THREAD):
            assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 2

    def test_one_thread_is_the_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COMPBO_THREADS")
        assert allowed_threads() == 1
        with threads_for(1e12):
            assert torch.get_num_threads() == 1
        with lapack_threads_for(1e12):
            assert set(blas_threads()) == {1}
        assert torch.get_num_threads() == 2

    def test_threads_come_back_after_an_error(self) -> None:
        with pytest.raises(KeyError), threads_for(1.0):
            raise KeyError
        assert torch.get_num_threads() == 2

    def test_lapack_has_the_threads_where_it_has_the_work(self) -> None:
        before = blas_threads()
        for flops, expected in ((1.0, 1), (2 * FLOPS_PER_THREAD, 2), (1e12, 2)):
            with lapack_threads_for(flops):
                assert blas_threads() == [expected] * len(before)
                assert torch.get_num_threads() == 1
        assert blas_threads() == before
        assert torch.get_num_threads() == 2

    def test_contexts_nest(self) -> None:
        with single_threaded_blas(), threads_for(1.0):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2

    def test_a_caller_at_one_thread_stays_there(self) -> None:
        torch.set_num_threads(1)
        with threads_for(1e12):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1


def test_the_controller_sees_the_blas_of_scipy_in_a_fresh_process() -> None:
    """The controller knows only what is loaded when it is made: it must load SciPy's library itself."""
    script = (
        "from compbo.threads import single_threaded_blas\n"
        "from threadpoolctl import ThreadpoolController, threadpool_limits\n"
        "with single_threaded_blas():\n"
        "    import scipy.optimize\n"
        "    blas = ThreadpoolController().select(user_api='blas').info()\n"
        "    print([lib['num_threads'] for lib in blas])\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.strip("[]\n").split(", ")) == {"1"}


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", ""])
def test_a_number_that_is_none_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPBO_THREADS", given)
    with pytest.raises(OptionError, match="COMPBO_THREADS must be a whole number from 1 on"):
        allowed_threads()


def test_a_suggestion_does_not_depend_on_the_number_of_cores() -> None:
    """The sizes are such that a maximisation and a fit would both take two threads if they were allowed to."""
    script = (
        "import torch\n"
        "from compbo import Budget, Evaluation, Float, Settings, Space, StartPolicy\n"
        "from compbo.bo.history import History\n"
        "from compbo.bo.suggest import suggest\n"
        "space = Space({f'x{i}': Float(0, 1) for i in range(20)})\n"
        "points = space.sample(300, torch.Generator().manual_seed(0))\n"
        "history = History(tuple(Evaluation(p, sum(p.values()) ** 2) for p in points))\n"
        "few = Settings(batch_size=4, starts=StartPolicy(64, 16), budget=Budget(4))\n"
        "print(torch.get_num_threads(), suggest(space, few, history).points)\n"
    )
    plain = {key: value for key, value in os.environ.items() if key != "COMPBO_THREADS"}
    said = {}
    for cores in ("1", "2"):
        variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = {**plain, **dict.fromkeys(variables, cores)}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        threads, _, said[cores] = done.stdout.partition(" ")
        assert threads == cores
    assert said["1"] == said["2"]
