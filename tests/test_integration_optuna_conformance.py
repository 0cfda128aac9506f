"""Optuna's own conformance suites for samplers with one objective, with and without joint batches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import optuna
import pytest
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from compbo.integrations.optuna import CompBOSampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from optuna.samplers import BaseSampler

CHEAP = partial(CompBOSampler, seed=0, raw_batches=8, restarts=2, steps=2, minibatch=8)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


class TestOneByOne(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return partial(CHEAP, n_startup_trials=8)


class TestJointBatches(BasicSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return partial(CHEAP, n_startup_trials=0, batch_size=4)
