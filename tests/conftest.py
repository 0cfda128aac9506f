"""Shared fixtures, the Hypothesis profile, and the guard on the global random generators."""

from __future__ import annotations

import os
import random
import shutil
import signal
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from dask_cluster import Cluster

# The same examples in every run, and the blob that reproduces a failure.
settings.register_profile("compbo", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("compbo")

# What a shell starts in the background ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MEMORY = "/dev/shm"


def can_hold_folders(place: str) -> bool:
    """Whether the folder is there, has room, and programs can be run from it."""
    return (
        os.access(place, os.W_OK | os.X_OK)
        and not os.statvfs(place).f_flag & os.ST_NOEXEC
        and shutil.disk_usage(place).free > 2**30
    )


# Folders of tests are in memory, where that can be: SQLite waits for a disk at every commit.
if can_hold_folders(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def global_rng_states() -> dict[str, object]:
    """Everything a stray draw or seed would move, in a form that compares with ==."""
    name, keys, position, *rest = np.random.get_state()  # noqa: NPY002 - it is the global one that is watched
    return {
        "random": random.getstate(),
        "numpy.random": (name, keys.tobytes(), position, *rest),
        "torch": torch.get_rng_state().numpy().tobytes(),
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test in which anything drew from, or seeded, a global generator (setup of its fixtures apart)."""
    before = global_rng_states()
    result = yield
    if item.get_closest_marker("touches_global_rng") is None:
        after = global_rng_states()
        moved = [name for name in before if before[name] != after[name]]
        if moved:
            pytest.fail(
                f"global generator moved: {', '.join(moved)}. Pass a generator down; "
                "mark a test of a third-party peer with touches_global_rng.",
                pytrace=False,
            )
    return result


@pytest.fixture
def generator() -> torch.Generator:
    """A seeded torch generator of the test's own."""
    return torch.Generator().manual_seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded NumPy generator of the test's own."""
    return np.random.default_rng(0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A Dask scheduler on loopback, as yet without workers."""
    from dask_cluster import Cluster

    folder = tmp_path / "cluster"
    folder.mkdir()
    running = Cluster(folder)
    yield running
    running.end()


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """SQLAlchemy address of an empty PostgreSQL database, as `.ci/run` starts one."""
    url = os.environ.get("COMPBO_TEST_POSTGRES_URL")
    if not url:
        pytest.skip("no PostgreSQL server: set COMPBO_TEST_POSTGRES_URL, or run .ci/run")
    return url


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of an installed Chromium or Chrome."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("no browser: install Debian's chromium, or run .ci/run")
