"""Parts of the user's own, in this process: what may be registered, functions as maximizers, values, saving."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import optuna
import pytest
import torch
from botorch.acquisition.logei import qLogExpectedImprovement

import compbo
from botorch_problems import BEST, BOUNDS, QUIET, gp, sobol
from compbo.acquisition import registry as acquisitions
from compbo.acquisition.integrands import EI, MaxMean
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples
from compbo.integrations.botorch import gen_candidates, optimize_acqf
from compbo.integrations.optuna import CompBOSampler
from compbo.maximizers import CATALOGUE, Traits
from compbo.report.reproduce import call_in_python
from compbo.space import Float, Space
from compbo.study.methods.registry import optimiser_group
from compbo.study.tasks import FunctionTask, get_task, list_tasks, registry
from compbo.study.tasks import register as register_task
from compbo.surrogate.posterior import PosteriorSamples
from compbo.types import Box, Budget, Status, Trace
from own_parts import write_plugin

SPACE = {"x": compbo.Float(0, 1), "y": compbo.Float(0, 1)}


def bowl(point: dict[str, float]) -> float:
    return (point["x"] - 0.3) ** 2 + (point["y"] - 0.6) ** 2


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """What a test registers is gone after it."""
    all_of_them = (CATALOGUE, acquisitions.ACQUISITIONS, registry.OWN)
    before = [dict(each) for each in all_of_them]
    yield
    for each, old in zip(all_of_them, before, strict=True):
        each.clear()
        each.update(old)


@pytest.fixture
def own(tmp_path: Path) -> ModuleType:
    """The plugin of docs/own_parts.md, imported."""
    spec = importlib.util.spec_from_file_location("own_skeletons_here", write_plugin(tmp_path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def climb(oracle: Any, x0: torch.Tensor, *, budget: Budget, box: Box, generator: torch.Generator) -> torch.Tensor:
    """Uniform points: the generator and the box are what they should be."""
    assert budget.steps > 0
    return box.lower + (box.upper - box.lower) * torch.rand(x0.shape, dtype=x0.dtype, generator=generator)


climb.form = "ME"  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Doubled(EI):
    """Twice EI."""

    factor: float = 2.0
    name: ClassVar[str] = "doubled"

    def inner(self, samples: PosteriorSamples, best: float) -> torch.Tensor:
        return super().inner(samples, best) * self.factor

    def inner_vjp(self, c: torch.Tensor, samples: PosteriorSamples, best: float) -> tuple[torch.Tensor, torch.Tensor]:
        return super().inner_vjp(c * self.factor, samples, best)


class TestTheSkeletons:
    def test_they_are_known_by_name(self, own: ModuleType) -> None:
        result = compbo.minimize(
            bowl, SPACE, evaluations=7, initial_points=4, maximizer="sign_ascent", acquisition="Squared-Improvement"
        )
        last = result.telemetry[-1]
        assert (last.maximizer, last.acquisition) == ("sign_ascent", "squared-improvement")
        assert last.acquisition_gain >= 0
        assert get_task("furnace").evaluate({"t": 750.0, "h": 0.25}) == 0.25
        assert list_tasks("own") == ["furnace"]
        assert optimiser_group("sign_ascent") == "own"

    def test_the_maximizer_climbs(self, own: ModuleType) -> None:
        posterior = _posterior()
        oracle = AcquisitionOracle(compbo.UCB(), posterior.posterior, make_samples("ERM", 2), posterior.best)
        x0 = torch.rand(8, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        trace = compbo.make_maximizer(own.sign_ascent)(
            oracle, x0, budget=Budget(30), box=Box.unit(2), generator=torch.Generator().manual_seed(0)
        )
        assert bool((trace.best_value >= trace.start_value).all())
        assert float((trace.best_value - trace.start_value).mean()) > 0.05
        assert trace.status == (Status.DONE,) * 8

    def test_the_derivative_of_the_acquisition_is_that_of_its_values(self, own: ModuleType) -> None:
        acquisition = own.SquaredImprovement(scale=3.0)
        generator = torch.Generator().manual_seed(0)
        mean = torch.randn(2, 3, 1, dtype=torch.float64, generator=generator).expand(2, 3, 5).clone().requires_grad_()
        deviation = torch.randn(2, 3, 5, dtype=torch.float64, generator=generator).requires_grad_()
        c = torch.randn(2, 3, 5, dtype=torch.float64, generator=generator)
        samples = PosteriorSamples(mean, deviation)
        wanted = torch.autograd.grad((acquisition.inner(samples, 0.1) * c).sum(), [mean, deviation])
        found = acquisition.inner_vjp(c, samples, 0.1)
        for one, other in zip(wanted, found, strict=True):
            torch.testing.assert_close(one, other.detach())

    def test_they_are_saved_and_read_again(self, own: ModuleType, tmp_path: Path) -> None:
        options = {"maximizer": "sign_ascent", "acquisition": own.SquaredImprovement(scale=2.0), "initial_points": 2}
        optimizer = compbo.Optimizer(SPACE, **options)
        again = compbo.Optimizer.from_json(optimizer.to_json())
        assert again.settings == optimizer.settings
        for evaluations in (3, 5):
            stored = compbo.minimize(bowl, SPACE, evaluations=evaluations, storage=str(tmp_path / "run.db"), **options)
        at_once = compbo.minimize(bowl, SPACE, evaluations=5, **options)
        assert [record.params for record in stored.records] == [record.params for record in at_once.records]


def _posterior() -> Any:
    optimizer = compbo.Optimizer(SPACE, seed=3)
    points = Space(SPACE).sample(8, torch.Generator().manual_seed(2))
    optimizer.tell(points, [bowl(point) for point in points])
    return optimizer.model()


class TestFunctionsAsMaximizers:
    def test_a_function_is_a_value(self) -> None:
        result = compbo.minimize(bowl, SPACE, evaluations=6, initial_points=3, maximizer=climb)
        assert result.telemetry[-1].maximizer == "climb"
        assert CATALOGUE.keys().isdisjoint({"climb"})  # nothing was registered
        assert compbo.make_maximizer(climb) == compbo.make_maximizer(climb)
        settings = compbo.Settings(maximizer=climb)
        assert pickle.loads(pickle.dumps(settings)) == copy.deepcopy(settings) == settings

    def test_the_call_in_the_report_names_it(self) -> None:
        assert "maximizer='climb'" in call_in_python(Space(SPACE), compbo.Settings(maximizer=climb), 5)

    def test_without_a_form(self) -> None:
        def formless(oracle: Any, x0: torch.Tensor, **more: Any) -> torch.Tensor:
            return x0

        with pytest.raises(compbo.OptionError, match=r"^maximizer: the function formless needs an attribute `form`"):
            compbo.Optimizer(SPACE, maximizer=formless)
        with pytest.raises(ValueError, match="needs an attribute `form`"):
            compbo.register(formless)

    @pytest.mark.parametrize("wrong", [None, torch.zeros(1, 2), 3.0])
    def test_what_it_must_return(self, wrong: object) -> None:
        def stray(oracle: Any, x0: torch.Tensor, **more: Any) -> Any:
            return wrong

        stray.form = "ERM"  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match=r"Maximizer stray: it must return points of the shape of x0, \("):
            compbo.minimize(bowl, SPACE, evaluations=5, initial_points=4, maximizer=stray)

    def test_no_finite_number_is_refused(self) -> None:
        def lost(oracle: Any, x0: torch.Tensor, **more: Any) -> torch.Tensor:
            return x0 * torch.nan

        lost.form = "ERM"  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="Maximizer lost: none of the numbers that it returned is finite"):
            compbo.minimize(bowl, SPACE, evaluations=5, initial_points=4, maximizer=lost)

    def test_an_error_of_its_own_names_it(self) -> None:
        def broken(oracle: Any, x0: torch.Tensor, **more: Any) -> torch.Tensor:
            raise ValueError("mine")

        broken.form = "ERM"  # type: ignore[attr-defined]
        with pytest.raises(RuntimeError, match="Maximizer broken failed: ValueError: mine"):
            compbo.minimize(bowl, SPACE, evaluations=5, initial_points=4, maximizer=broken)

    def test_it_leaves_neither_the_box_nor_its_best(self) -> None:
        def far(oracle: Any, x0: torch.Tensor, **more: Any) -> torch.Tensor:
            moved = x0 + 7.0
            moved[0] = torch.nan
            x0.zero_()  # its own copy
            return moved

        far.form = "FSM"  # type: ignore[attr-defined]
        model = _posterior()
        oracle = AcquisitionOracle(EI(), model.posterior, make_samples("FSM", 1, steps=3), model.best)
        x0 = torch.rand(4, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        kept = x0.clone()
        trace = compbo.make_maximizer(far)(
            oracle, x0, budget=Budget(3), box=Box.unit(2), generator=torch.Generator().manual_seed(0)
        )
        assert torch.equal(x0, kept)
        assert torch.equal(trace.final[0], kept[0])  # where it returned no number
        assert torch.equal(trace.final[1:], torch.ones(3, 1, 2, dtype=torch.float64))
        assert bool((trace.best_value >= trace.start_value).all())

    def test_a_trace_says_more(self) -> None:
        class Careful:
            """Another maximizer inside: its trace is passed on."""

            form = "ERM"
            name = "careful"
            traits = Traits(order=2, rule="L-BFGS-B", one_draw=True)

            def __call__(self, oracle: Any, x0: torch.Tensor, **arguments: Any) -> Trace:
                return compbo.make_maximizer("L-BFGS-B")(oracle, x0, **arguments)

        own = compbo.register(Careful())
        assert CATALOGUE["careful"].order == 2
        assert compbo.register(own) is own  # the same again
        with pytest.raises(ValueError, match="there is a maximizer called 'careful' already"):
            compbo.register(Careful())
        result = compbo.minimize(bowl, SPACE, evaluations=6, initial_points=5, maximizer="careful")
        assert set(result.telemetry[-1].statuses) <= {"converged", "done"}
        assert result.telemetry[-1].ascent_steps > 1

    @QUIET
    @pytest.mark.touches_global_rng  # BoTorch draws raw samples from it
    def test_the_plugs_take_it(self) -> None:
        acqf = qLogExpectedImprovement(gp(), BEST, sobol())
        for arguments in ({"maximizer": climb}, {"maximizer": compbo.make_maximizer(climb)}):
            candidates, value = optimize_acqf(acqf, BOUNDS, q=2, num_restarts=2, raw_samples=8, **arguments)
            assert candidates.shape == (2, 3)
            assert value is not None
        assert gen_candidates(climb).maximizer.name == "climb"
        study = optuna.create_study(sampler=CompBOSampler(maximizer=climb, seed=0, n_startup_trials=3))
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=5)
        assert len(study.trials) == 5


class TestAcquisitions:
    def test_a_value_that_is_not_registered_works_and_is_not_saved(self, tmp_path: Path) -> None:
        own = Doubled(factor=3.0)
        result = compbo.minimize(bowl, SPACE, evaluations=5, initial_points=4, acquisition=["ucb", own])
        assert result.best is not None
        optimizer = compbo.Optimizer(SPACE, acquisition=own)
        with pytest.raises(compbo.OptionError, match=r"^acquisition: Doubled is not registered, so that a saved run"):
            optimizer.to_json()
        database = tmp_path / "run.db"
        evaluated: list[object] = []
        with pytest.raises(ValueError, match=r"maximizer: climb is not registered"):
            compbo.minimize(evaluated.append, SPACE, evaluations=3, storage=str(database), maximizer=climb)
        assert not evaluated
        assert not database.exists()
        compbo.register(Doubled)
        assert compbo.Optimizer.from_json(optimizer.to_json()).settings.acquisition == own

    def test_twice_ei_suggests_what_ei_does(self) -> None:
        runs = [
            compbo.minimize(bowl, SPACE, evaluations=6, initial_points=4, acquisition=acquisition, maximizer="RS")
            for acquisition in (EI(), Doubled())
        ]
        points = [[list(record.params.values()) for record in run.records] for run in runs]
        np.testing.assert_allclose(points[0], points[1], rtol=1e-9)

    def test_one_that_lacks_something(self) -> None:
        class Half:
            name = "half"

            def inner_vjp(self) -> None: ...

        with pytest.raises(compbo.OptionError, match=r"^acquisition: Half lacks inner, utility, outer, outer_gradient"):
            compbo.Optimizer(SPACE, acquisition=Half())

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (3, "a function with a form or an acquisition class is wanted, got 3"),
            (type("Plain", (MaxMean,), {}), "a dataclass is wanted for an acquisition function, got Plain"),
            (dataclass(frozen=True)(type("Half", (MaxMean,), {"name": "half"})), "Half lacks inner, inner_vjp"),
            (dataclass(frozen=True)(type("Named", (EI,), {"name": "a,b"})), "must be a word in lower case, got 'a,b'"),
            (dataclass(frozen=True)(type("Loud", (EI,), {"name": "Loud"})), "must be a word in lower case, got 'Loud'"),
            (
                dataclass(frozen=True)(type("Second", (EI,), {"name": "ei"})),
                "an acquisition function called 'ei' already",
            ),
            (dataclass(frozen=True)(type("Portfolio", (EI,), {"name": "portfolio"})), "must be a word in lower case"),
        ],
    )
    def test_what_cannot_be_registered(self, wrong: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            compbo.register(wrong)
        assert set(acquisitions.ACQUISITIONS) == {"ei", "pi", "sr", "ucb", "logei"}

    def test_parameters_need_defaults_that_can_be_written(self) -> None:
        @dataclass(frozen=True)
        class Needy(EI):
            name: ClassVar[str] = "needy"
            weight: float = field(kw_only=True)

        @dataclass(frozen=True)
        class Odd(EI):
            name: ClassVar[str] = "odd"
            weight: object = print

        with pytest.raises(ValueError, match="every parameter of Needy needs a default value"):
            compbo.register(Needy)
        with pytest.raises(ValueError, match="the parameters of Odd must be numbers or texts"):
            compbo.register(Odd)


class TestTasks:
    def test_a_function_of_the_seed(self) -> None:
        from compbo.study.tasks import SyntheticTask

        def noisy_levy(seed: int) -> SyntheticTask:
            return SyntheticTask("levy", 2, noise=0.1, seed=seed)

        assert register_task(noisy_levy) is noisy_levy
        assert register_task(noisy_levy, name="lev.y_2") is noisy_levy
        task = get_task("lev.y_2", seed=4)
        assert isinstance(task, SyntheticTask)
        assert task.seed == 4
        assert list_tasks()[-2:] == ["noisy_levy", "lev.y_2"]

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("levy-3", "there is a task called 'levy-3' already"),
            ("rf-boston-mse", "there is a task called 'rf-boston-mse' already"),
            ("a:b", "has letters, digits"),
            ("levy*", "has letters, digits"),
            ("tuning", "has letters, digits"),
            ("", "has letters, digits"),
        ],
    )
    def test_names(self, name: str, message: str) -> None:
        task = FunctionTask("bowl", Space({"x": Float(0, 1)}), lambda p: p["x"])
        with pytest.raises(ValueError, match=message):
            register_task(task, name)

    def test_what_is_no_task(self) -> None:
        for wrong in (3, FunctionTask):
            with pytest.raises(ValueError, match="a task, or a function of the seed that returns one, is wanted"):
                register_task(wrong)  # type: ignore[arg-type]
        register_task(lambda seed: None, "nothing")  # type: ignore[arg-type,return-value]
        with pytest.raises(ValueError, match="nothing is of type NoneType, neither a task"):
            get_task("nothing")
        with pytest.raises(ValueError, match=r"registered name \(nothing\)\. Your own is known once"):
            get_task("furnace-of-mine")
