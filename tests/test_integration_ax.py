"""compbo in Ax: a real `Client` over mixed parameters, in joint batches, saved, loaded and continued."""

from __future__ import annotations

import importlib
import logging
import math
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch

pytest.importorskip("ax", reason='pip install "compbo[ax]"')

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig, StorageConfig
from botorch.acquisition.monte_carlo import qUpperConfidenceBound

from compbo.integrations.ax import CompBOAcquisition, generation_strategy
from compbo.integrations.ax import acquisition as module
from compbo.integrations.ax.batches import BegunBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of Ax, about itself and about its own dependencies
    pytest.mark.touches_global_rng,  # Ax seeds and restores it
]

cheap = partial(generation_strategy, initial_trials=4, steps=4, minibatch=16, num_restarts=2, raw_samples=16)
MIXED = [
    RangeParameterConfig(name="x", parameter_type="float", bounds=(-5, 10)),
    RangeParameterConfig(name="rate", parameter_type="float", bounds=(1e-4, 1), scaling="log"),
    RangeParameterConfig(name="n", parameter_type="int", bounds=(1, 8)),
    ChoiceParameterConfig(name="kind", parameter_type="str", values=["a", "b", "c"], is_ordered=False),
    ChoiceParameterConfig(name="size", parameter_type="int", values=[1, 10, 100], is_ordered=True),
]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "BEGUN", BegunBatches())
    before = logging.getLogger("ax").level
    logging.getLogger("ax").setLevel(logging.ERROR)
    yield
    logging.getLogger("ax").setLevel(before)


@pytest.fixture
def maximisations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the joint batches that were computed."""
    sizes: list[int] = []
    original = module.best_batch

    def counted(acqf: Any, bounds: torch.Tensor, q: int, *args: Any, **kwargs: Any) -> Any:
        sizes.append(q)
        return original(acqf, bounds, q, *args, **kwargs)

    monkeypatch.setattr(module, "best_batch", counted)
    return sizes


def make(strategy: Any, parameters: list[Any] = MIXED, constraints: tuple[str, ...] = (), **client: Any) -> Client:
    made = Client(random_seed=1, **client)
    made.configure_experiment(name="experiment", parameters=parameters, parameter_constraints=constraints)
    made.configure_optimization(objective="-loss")
    made.set_generation_strategy(strategy)
    return made


def loss(p: dict[str, Any]) -> float:
    kind = {"a": 1.0, "b": 0.0, "c": 2.0}[p["kind"]]
    return (p["x"] - 2) ** 2 / 10 + abs(math.log10(p["rate"]) + 2) + abs(p["n"] - 5) / 5 + kind + p["size"] / 100


def rounds(
    client: Client, count: int, trials: int, f: Callable[[dict[str, Any]], float] = loss
) -> list[dict[str, Any]]:
    points = []
    for _ in range(count):
        asked = client.get_next_trials(max_trials=trials)
        points += list(asked.values())
        for index, parameters in asked.items():
            client.complete_trial(index, raw_data={"loss": f(parameters)})
    return points


def test_joint_batches_of_mixed_parameters_saved_loaded_and_continued(tmp_path: Path, maximisations: list[int]) -> None:
    client = make(cheap(batch_size=2, seed=3))
    rounds(client, 3, 2)  # two rounds of Sobol points, one of compbo's
    assert maximisations == [2]  # one maximisation for both trials
    file = str(tmp_path / "experiment.json")
    client.save_to_json_file(file)
    loaded = Client.load_from_json_file(file)
    points = rounds(loaded, 1, 2)
    assert maximisations == [2, 2]
    for point in points:
        assert -5 <= point["x"] <= 10
        assert isinstance(point["n"], int)
        assert point["kind"] in ("a", "b", "c")
        assert point["size"] in (1, 10, 100)
    assert points[0] != points[1]
    (spec,) = loaded._generation_strategy.nodes_by_name["compbo"].generator_specs
    assert spec.generator_kwargs["acquisition_class"] is CompBOAcquisition
    assert loaded.summarize().shape[0] == 8


def test_sql(tmp_path: Path, maximisations: list[int]) -> None:
    from ax.storage.sqa_store.db import create_all_tables, get_engine, init_engine_and_session_factory

    url = f"sqlite:///{tmp_path / 'ax.db'}"
    init_engine_and_session_factory(url=url)
    create_all_tables(get_engine())
    storage = StorageConfig(url=url)
    client = make(cheap(), MIXED[:2], storage_config=storage)
    simple = partial(rounds, trials=1, f=lambda p: (p["x"] - 2) ** 2)
    simple(client, 5)
    loaded = Client.load_from_database("experiment", storage_config=storage)
    simple(loaded, 1)
    assert maximisations == [1, 1]
    assert loaded.summarize().shape[0] == 6


def test_a_batch_trial_is_one_joint_batch(maximisations: list[int]) -> None:
    client = make(cheap(), MIXED[:3])
    rounds(client, 4, 1, f=lambda p: p["x"] ** 2)
    ((run,),) = client._generation_strategy.gen(experiment=client._experiment, n=3)
    assert len(run.arms) == 3
    assert maximisations == [3]


def test_an_acquisition_function_and_a_maximizer_of_choice(maximisations: list[int]) -> None:
    strategy = cheap(maximizer="SCGA", hyperparameters={"beta": 0.4}, botorch_acqf_class=qUpperConfidenceBound)
    client = make(strategy, MIXED[:2])
    rounds(client, 5, 1, f=lambda p: p["x"] ** 2)
    assert maximisations == [1]


def test_a_point_that_ax_would_refuse_is_not_suggested(maximisations: list[int]) -> None:
    """The best point is a corner: Ax asks again, five times, for one that repeats, and then takes a random one."""
    client = make(cheap(), [MIXED[0], MIXED[2]])
    points = rounds(client, 10, 1, f=lambda p: p["x"] + 9 * p["n"])
    assert len({str(point) for point in points}) == 10
    assert maximisations == [1] * 6


def test_fixed_parameters(maximisations: list[int]) -> None:
    client = make(cheap(batch_size=2), MIXED[:4])
    rounds(client, 2, 2, f=lambda p: p["x"] ** 2)
    asked = client.get_next_trials(max_trials=2, fixed_parameters={"kind": "c", "x": 1.5})
    assert [(p["kind"], p["x"]) for p in asked.values()] == [("c", 1.5)] * 2
    assert maximisations == [2]


@pytest.mark.parametrize(
    ("parameters", "constraints", "reason"),
    [
        (
            [RangeParameterConfig(name=name, parameter_type="float", bounds=(0, 1)) for name in ("x", "y")],
            ("x + y <= 1",),
            "no constraints between parameters",
        ),
        ([MIXED[2], MIXED[4]], (), "every parameter is discrete"),
    ],
)
def test_what_compbo_cannot_do_is_left_to_ax_and_said(
    parameters: list[Any], constraints: tuple[str, ...], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = make(cheap(), parameters, constraints)
    points = rounds(client, 5, 1, f=lambda p: float(p.get("x", p.get("size", 0))))
    assert reason in caplog.text
    if constraints:
        assert all(p["x"] + p["y"] <= 1 + 1e-8 for p in points)


def test_several_objectives_need_a_gradient_method_or_one_without_samples() -> None:
    for maximizer, fails in (("CMA-ES-Comp", True), ("CAdam-ME", False), ("Adam-ERM", False)):
        client = Client(random_seed=1)
        client.configure_experiment(name="two", parameters=MIXED[:2])
        client.configure_optimization(objective="-loss, -cost")
        client.set_generation_strategy(cheap(maximizer=maximizer))
        for _ in range(4):
            for index, p in client.get_next_trials(max_trials=1).items():
                client.complete_trial(index, raw_data={"loss": p["x"] ** 2, "cost": p["rate"]})
        if fails:
            with pytest.raises(ValueError, match="CMA-ES-Comp has no samples to work on; choose one of"):
                client.get_next_trials(max_trials=1)
        else:
            assert len(client.get_next_trials(max_trials=1)) == 1


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="did you mean"):
        generation_strategy(maximizer="CAdamME")
    with pytest.raises(ValueError, match="initial_trials must be a whole number >= 1, got 0"):
        generation_strategy(initial_trials=0)
    with pytest.raises(ValueError, match="batch_size must be a whole number >= 1, got '2'"):
        generation_strategy(batch_size="2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"num_restarts must be at most raw_samples \(3\), got 9"):
        generation_strategy(num_restarts=9, raw_samples=3)
    with pytest.raises(ValueError, match="'gen_candidates' is unknown to compbo, which takes maximizer"):
        module.Options.from_mapping({"gen_candidates": None})


def test_without_ax_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "ax" or name.startswith("compbo.integrations.ax")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ax", None)
    with pytest.raises(ModuleNotFoundError, match=r'ax is not installed: pip install "compbo\[ax\]"'):
        importlib.import_module("compbo.integrations.ax")


class TestBegunBatches:
    observed = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    batch = torch.rand(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def test_points_are_taken_one_by_one_in_the_state_they_belong_to(self) -> None:
        begun = BegunBatches()
        begun.put(self.batch, 1, self.observed, None, None)
        assert begun.take(1, self.observed, None, None) is None  # its first point is not pending yet
        moved = self.observed.flip(0) + 1e-9  # through Ax's transforms and back, in another order
        assert torch.equal(begun.take(1, moved, self.batch[:1], None), self.batch[1:2])
        assert torch.equal(begun.take(1, moved, self.batch[:2], None), self.batch[2:])
        assert begun.take(1, moved, self.batch, None) is None

    def test_batches_of_several_experiments(self) -> None:
        begun = BegunBatches()
        begun.put(self.batch[:, :1], 1, self.observed[:, :1], None, None)
        begun.put(self.batch, 1, self.observed, None, None)
        assert torch.equal(begun.take(1, self.observed, self.batch[:1], None), self.batch[1:2])
        assert torch.equal(begun.take(2, self.observed[:, :1], self.batch[:1, :1], None), self.batch[1:, :1])

    def test_new_data_or_other_fixed_features_make_it_void(self) -> None:
        begun = BegunBatches()
        begun.put(self.batch, 1, self.observed, None, None)
        assert begun.take(1, self.observed[:3], self.batch[:1], None) is None
        assert begun.take(1, self.observed, self.batch[:1], {0: 1.0}) is None
        assert begun.take(3, self.observed, self.batch[:1], None) is None  # more than are left
