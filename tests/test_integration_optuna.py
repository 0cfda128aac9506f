"""CompBOSampler: a suggestion is a function of the seed and of the storage."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from compbo.bo.history import History
from compbo.bo.suggest import Suggestion, suggest
from compbo.bo.verdict import Verdict
from compbo.evaluation import Evaluation
from compbo.integrations.optuna import CompBOSampler, telemetry
from compbo.integrations.optuna.claims import holds
from compbo.integrations.optuna.conditions import union_search_space
from compbo.integrations.optuna.planning import decide
from compbo.integrations.optuna.trials import JointBatch, Reader, StudyView, publish
from compbo.storage import load_optimizer
from compbo.storage.signature import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from optuna.study import Study
    from optuna.trial import Trial

cheap = partial(CompBOSampler, seed=0, n_startup_trials=4, raw_batches=16, restarts=4, steps=4, minibatch=16)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def objective(trial: Trial) -> float:
    x = trial.suggest_float("x", -5, 10)
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    share = trial.suggest_float("share", 0, 1, step=0.1)
    depth = trial.suggest_int("depth", 1, 16, log=True)
    width = trial.suggest_int("width", 8, 64, step=8)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    return (x - 2) ** 2 + (rate - 0.01) ** 2 + share + depth / 4 + width / 64 + (kind == "a")


@pytest.fixture
def asks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that were worked out."""
    counts: list[int] = []

    def counted(space: Any, settings: Any, history: History, count: int) -> Suggestion:
        counts.append(count)
        return suggest(space, settings, history, count)

    monkeypatch.setattr("compbo.integrations.optuna.sampler.suggest", counted)
    return counts


def params_of(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def run(sampler: CompBOSampler, trials: int, study: Study | None = None, **create: Any) -> Study:
    if study is None:
        study = optuna.create_study(sampler=sampler, **create)
    study.sampler = sampler
    study.optimize(objective, n_trials=trials)
    return study


class TestStateIsTheStorage:
    @pytest.mark.parametrize("batch_size", [1, 3])
    def test_a_resumed_study_goes_on_as_if_it_had_never_stopped(self, batch_size: int, tmp_path: Path) -> None:
        whole = run(cheap(batch_size=batch_size), 10)
        url = f"sqlite:///{tmp_path / 'study.db'}"
        run(cheap(batch_size=batch_size), 4, study_name="half", storage=url)
        resumed = run(cheap(batch_size=batch_size), 6, optuna.load_study(study_name="half", storage=url))
        assert params_of(resumed) == params_of(whole)

    def test_the_seed_matters(self) -> None:
        assert params_of(run(cheap(seed=1), 6)) != params_of(run(cheap(seed=2), 6))
        assert params_of(run(cheap(seed=None), 2)) != params_of(run(cheap(seed=None), 2))

    def test_maximising_the_negative_is_the_same(self) -> None:
        up = optuna.create_study(direction="maximize", sampler=cheap())
        up.optimize(lambda trial: -objective(trial), n_trials=8)
        assert params_of(up) == params_of(run(cheap(), 8))


class TestTrials:
    def space(self) -> dict[str, Any]:
        return {"x": FloatDistribution(0, 1), "n": IntDistribution(1, 9)}

    def add(self, study: Study, x: float, n: int, **kwargs: Any) -> None:
        study.add_trial(create_trial(params={"x": x, "n": n}, distributions=self.space(), **kwargs))

    def view(self, study: Study) -> StudyView:
        trials = study.get_trials(deepcopy=False)
        return Reader(self.space()).view(trials, without=len(trials), batches_from=0)

    def test_finished_trials_are_evaluations(self) -> None:
        study = optuna.create_study()
        self.add(study, 0.1, 1, value=3.0)
        self.add(study, 0.2, 2, state=TrialState.FAIL)
        self.add(study, 0.3, 3, state=TrialState.PRUNED, value=-50.0)  # an early value cannot be the best one
        self.add(study, 0.4, 4, state=TrialState.PRUNED, value=99.0)
        self.add(study, 0.5, 5, state=TrialState.PRUNED)
        self.add(study, 0.6, 6, value=5.0)
        self.add(study, 0.7, 7, value=float("inf"))
        self.add(study, 0.8, 8, value=1.0, system_attrs={"constraints": [-1.0, 0.5]})
        self.add(study, 0.9, 9, value=4.0, system_attrs={"constraints:cost": 0.0})
        values = [(e.params["n"], e.value) for e in self.view(study).evaluations]
        expected = [3.0, None, 3.0, 5.0, None, 5.0, None, None, 4.0]
        assert values == list(enumerate(expected, start=1))

    def test_running_waiting_and_undecided_trials(self) -> None:
        study = optuna.create_study()
        study.enqueue_trial({"x": 0.25, "n": 2})  # WAITING
        running = study.ask(self.space())  # takes it
        study.enqueue_trial({"x": 0.75, "n": 7})
        partial_params = study.ask({"x": FloatDistribution(0, 1)})  # will not have n for a while
        decided = study.ask()
        publish(study._storage, decided._trial_id, "compbo:point", {"x": 0.5, "n": 5})
        undecided = study.ask()
        independent = study.ask()
        publish(study._storage, independent._trial_id, "compbo:point", {})
        view = self.view(study)
        assert view.pending[running.number] == {"x": 0.25, "n": 2}
        assert view.pending[decided.number] == {"x": 0.5, "n": 5}
        assert partial_params.number not in view.undecided  # it took the enqueued point
        assert view.undecided == {undecided.number}

    def test_another_range_is_another_parameter(self) -> None:
        study = optuna.create_study()
        study.add_trial(create_trial(params={"x": 0.5}, distributions={"x": FloatDistribution(0, 2)}, value=1.0))
        assert self.view(study).evaluations == []

    def test_steps_that_were_added_up(self) -> None:
        space = {"s": FloatDistribution(0, 1, step=0.1)}
        assert Reader(space).point({"s": 0.1 + 0.2}) == {"s": 0.3}

    def test_long_points_are_published_in_pieces_and_replaced_whole(self) -> None:
        study = optuna.create_study()
        trial = study.ask()
        long = {f"parameter-{i}": i / 7 for i in range(200)}
        for data in (long, {"x": 1.0}, long):
            publish(study._storage, trial._trial_id, "compbo:point", data)
            attributes = study.trials[0].system_attrs
            assert unpack("compbo:point", attributes) == data
            assert all(len(str(value)) < 2046 for value in attributes.values())

    def test_a_point_that_failed_is_not_suggested_again(self) -> None:
        study = optuna.create_study(sampler=cheap())
        study.optimize(lambda t: objective(t) * (float("nan") if t.number > 5 else 1.0), n_trials=9)
        assert [t.state for t in study.trials[6:]] == [TrialState.FAIL] * 3
        points = [*params_of(study), study.ask().relative_params]
        assert len({str(sorted(point.items())) for point in points}) == 10

    def test_a_trial_that_failed_and_was_tried_again_with_success_is_not_a_failure(self) -> None:
        """What Optuna's RetryFailedTrialCallback does with the trial of a worker that was killed."""

        def next_point(*, failure: bool) -> dict[str, Any]:
            study = optuna.create_study(sampler=cheap())
            for n in range(1, 8):
                self.add(study, n / 10, n, value=abs(n - 5.0))
            if failure:
                self.add(study, 0.5, 5, state=TrialState.FAIL)  # the best one
            return dict(study.ask().relative_params)

        assert next_point(failure=True) == next_point(failure=False) != {}

    def test_an_interrupted_suggestion_leaves_no_trace(self, asks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*args: Any, **kwargs: Any) -> None:
            raise KeyboardInterrupt

        study = run(cheap(), 5)
        with monkeypatch.context() as patch:
            patch.setattr("compbo.bo.suggest.propose", interrupted)
            with pytest.raises(KeyboardInterrupt):
                _ = study.ask().relative_params
        assert study.trials[-1].state == TrialState.RUNNING  # Optuna's: nobody told it anything
        asks.clear()
        trial = study.ask()
        assert trial.relative_params == run(cheap(), 6).trials[-1].params
        assert (
            len(asks) == 1 + 5
        )  # that of the interrupted trial is not worked out; the other study's first has no space

    def test_infeasible_trials_are_avoided(self) -> None:
        """Without the constraint the best x is 0; with it, the border at a half is."""

        def cost(trial: Trial) -> float:
            x = trial.suggest_float("x", 0, 1)
            trial.set_user_attr("below", 0.5 - x)
            return x

        def late_trials_above(**options: Any) -> int:
            study = optuna.create_study(sampler=cheap(raw_batches=64, restarts=8, steps=16, minibatch=32, **options))
            study.optimize(cost, n_trials=14)
            return sum(t.params["x"] > 0.4 for t in study.trials[4:])

        assert late_trials_above() <= 1
        assert late_trials_above(constraints_func=lambda t: [t.user_attrs["below"]]) >= 8

    def test_a_constraint_that_is_not_a_number(self) -> None:
        study = optuna.create_study(sampler=cheap(constraints_func=lambda _: [float("nan")]))
        with pytest.raises(ValueError, match="constraints_func returned NaN"):
            study.optimize(objective, n_trials=1)

    def test_pruning(self) -> None:
        def pruned(trial: Trial) -> float:
            value = objective(trial)
            trial.report(value, 0)
            if trial.number % 2:
                raise optuna.TrialPruned
            return value

        study = optuna.create_study(sampler=cheap())
        study.optimize(pruned, n_trials=10)
        assert [t.state.name for t in study.trials] == ["COMPLETE", "PRUNED"] * 5


class TestConditionalParameters:
    def branches(self, trial: Trial) -> float:
        if trial.suggest_categorical("kind", ["x", "y"]) == "x":
            return 0.5 + trial.suggest_float("only x", 0, 1)
        return trial.suggest_float("only y", 0, 1) + 0.1 * trial.suggest_int("count", 1, 5)

    def test_all_of_them_are_modelled(self, caplog: pytest.LogCaptureFixture) -> None:
        study = optuna.create_study(sampler=cheap(n_startup_trials=8))
        study.optimize(self.branches, n_trials=20)
        found = study.sampler.infer_relative_search_space(study, study.trials[0])
        assert set(found) == {"kind", "only x", "only y", "count"}
        assert not caplog.records
        late = [trial.params for trial in study.trials[12:]]
        assert sum(params["kind"] == "y" for params in late) >= 6
        assert study.best_value < 0.15  # the least is 0.1; uniform draws of a branch would not come near

    def test_what_is_left_out_does_not_tell_points_apart(self) -> None:
        study = optuna.create_study(sampler=cheap())
        study.optimize(self.branches, n_trials=12)
        trials = study.get_trials()
        reader = Reader(union_search_space(trials), trials)
        one, other = (reader.point({"kind": "x", "only x": 0.3, "only y": y, "count": 2}) for y in (0.1, 0.9))
        assert one == other == reader.point({"kind": "x", "only x": 0.3})
        assert reader.point({"kind": "y", "only y": 0.3}) is None  # the count is missing without a reason

    def test_a_failed_trial_without_its_parameters_is_no_point(self) -> None:
        study = optuna.create_study(sampler=cheap())
        study.optimize(self.branches, n_trials=12)
        broken = study.ask({"kind": CategoricalDistribution(["x", "y"])})
        study.tell(broken, state=TrialState.FAIL)
        trials = study.get_trials()
        reader = Reader(union_search_space(trials), trials)
        assert len(reader.view(trials, without=-1, batches_from=0).evaluations) == 12

    def test_numbers_decide_by_a_threshold(self) -> None:
        def layers(trial: Trial) -> float:
            count = trial.suggest_int("layers", 1, 4)
            return sum(trial.suggest_float(f"width {i}", 0, 1) for i in range(count))

        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(layers, n_trials=30)
        trials = study.get_trials()
        space = Reader(union_search_space(trials), trials).space
        assert space.left_out({"layers": 2}) == {"width 2", "width 3"}
        assert space.left_out({"layers": 4}) == set()


class TestIndependentParameters:
    def conditional(self, trial: Trial) -> float:
        """The range of the second parameter depends on the first, so it stays outside the model."""
        kind = trial.suggest_categorical("kind", ["x", "y"])
        return trial.suggest_float("only", 0, 1 if kind == "x" else 0.9)

    def test_they_are_said_to_be_so_once(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.WARNING, logger="compbo")
        study = optuna.create_study(sampler=cheap())
        study.optimize(self.conditional, n_trials=12)
        said = [record.getMessage() for record in caplog.records]
        assert len(said) == 1
        assert "is drawn on its own, outside the model" in said[0]

    def test_common_points_are_suggested_again(self, asks: list[int]) -> None:
        """Trials with the same common parameters differ in the others; forcing them apart would waste the best."""
        study = optuna.create_study(sampler=cheap(n_startup_trials=10, warn_independent_sampling=False))
        study.optimize(lambda t: self.conditional(t) + 9 * (t.params["kind"] == "x"), n_trials=16)
        kinds = [t.params["kind"] for t in study.trials]
        assert {kinds[:10].count("x"), kinds[:10].count("y")} <= {3, 4, 5, 6, 7}  # the design goes on in its sequence
        assert kinds[10:].count("y") >= 5
        assert len(asks) == 15  # no trial was decided twice; the first has no space to be decided in

    def test_a_parameter_that_no_model_can_take_is_said_to_be_so(self, caplog: pytest.LogCaptureFixture) -> None:
        study = optuna.create_study(sampler=cheap())
        study.optimize(lambda t: t.suggest_int("fine", 0, 10**7, step=2), n_trials=3)
        (record,) = caplog.records
        assert "'fine' of trial 1 is drawn on its own, outside the model: Parameter" in record.getMessage()
        assert "leave it out or take a larger one" in record.getMessage()

    def test_it_can_be_silenced(self, caplog: pytest.LogCaptureFixture) -> None:
        study = optuna.create_study(sampler=cheap(warn_independent_sampling=False))
        study.optimize(self.conditional, n_trials=6)
        assert not caplog.records

    def test_the_users_sampler_is_asked_and_told(self) -> None:
        calls: list[str] = []

        class Mine(optuna.samplers.RandomSampler):
            def sample_independent(self, *args: Any) -> Any:
                calls.append("sample")
                return super().sample_independent(*args)

            def before_trial(self, *args: Any) -> None:
                calls.append("before")

            def after_trial(self, *args: Any) -> None:
                calls.append("after")

            def reseed_rng(self) -> None:
                calls.append("reseed")

        sampler = cheap(independent_sampler=Mine(seed=1))
        optuna.create_study(sampler=sampler).optimize(self.conditional, n_trials=1)
        sampler.reseed_rng()
        assert calls == ["before", "sample", "sample", "after", "reseed"]

    def test_choices_that_are_equal_in_python_are_left_to_it(self) -> None:
        space = {"flag": CategoricalDistribution([1, True, "x"]), "x": FloatDistribution(0, 1)}
        study = optuna.create_study(sampler=cheap())
        study.tell(study.ask(space), 1.0)
        assert set(study.sampler.infer_relative_search_space(study, study.trials[0])) == {"x"}


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="did you mean CAdam-ME"):
        CompBOSampler(maximizer="CAdamME")
    with pytest.raises(ValueError, match="batch_size must be a whole number"):
        CompBOSampler(batch_size=0)
    with pytest.raises(ValueError, match="n_startup_trials must be a whole number >= 0"):
        CompBOSampler(n_startup_trials=-1)
    with pytest.raises(ValueError, match="n_startup_trials must be a whole number"):
        CompBOSampler(n_startup_trials=2.5)


class TestJointBatches:
    def test_a_block_of_trials_shares_one_plan(self) -> None:
        study = run(cheap(batch_size=4), 12)
        planned = [t.number for t in study.trials if "compbo:plan:0" in t.system_attrs]
        assert planned == [1, 4, 8]  # the first trial has no space to plan in
        plan = unpack("compbo:plan", study.trials[8].system_attrs)
        assert plan["anchor"] == 8
        assert [t.params for t in study.trials[8:]] == plan["points"]

    def test_telemetry_belongs_to_the_trial_that_planned(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'study.db'}"
        study = run(cheap(batch_size=4), 12, storage=url, study_name="s")
        found = telemetry(study)
        assert sorted(found) == [1, 4, 8]
        assert found[1].verdict == Verdict.DESIGN
        assert found[8].maximizer == "CAdam"
        assert (found[8].points, found[8].observations) == (4, 8)
        report = load_optimizer(url, "s")  # what `compbo report` reads
        assert [entry.verdict for entry in report.telemetry] == [found[n].verdict for n in (1, 4, 8)]

    def test_ask_several_before_telling(self) -> None:
        study = run(cheap(batch_size=4), 8)
        trials = [study.ask() for _ in range(4)]
        points = [trial.relative_params for trial in reversed(trials)]
        assert len({str(point) for point in points}) == 4


class Counter:
    """Suggestions whose points are numbered in the order of asking, so that batches can be told apart."""

    def __init__(self) -> None:
        self.asks: list[tuple[list[float], int]] = []  # what was pending, how many were asked for

    def __call__(self, history: History, count: int) -> Suggestion:
        pending = sorted(point["x"] for point in history.pending)
        self.asks.append((pending, count))
        start = 100 * len(pending) + sum(pending)  # a function of what it sees, as the real one is
        return Suggestion([{"x": float(start + i)} for i in range(count)], None)  # type: ignore[arg-type]


class TestDecisions:
    """The protocol without a study: who takes which point, whatever the order of events."""

    def look(self, **state: Any) -> Callable[[], StudyView]:
        return lambda: StudyView(
            evaluations=[Evaluation({"x": 0.0}, 1.0)],
            pending=dict(state.get("pending", {})),
            undecided=set(state.get("undecided", ())),
            batches=list(state.get("batches", ())),
        )

    def test_processes_that_see_the_same_take_different_places_of_one_plan(self) -> None:
        decisions = [decide(n, 4, self.look(undecided=set(range(8, 12)) - {n}), Counter()) for n in range(8, 12)]
        assert [d.point["x"] for d in decisions] == [0.0, 1.0, 2.0, 3.0]
        assert {d.batch.anchor for d in decisions if d.batch} == {8}

    def test_a_stored_plan_is_taken(self) -> None:
        batches = [JointBatch(8, [{"x": float(i)} for i in range(4)])]
        counter = Counter()
        assert decide(10, 4, self.look(batches=batches), counter) == ({"x": 2.0}, None, None)
        assert counter.asks == []

    def test_a_trial_that_lost_its_place_is_decided_without_the_plan(self) -> None:
        batches = [JointBatch(8, [{"x": float(i)} for i in range(4)])]
        taken = self.look(batches=batches, pending={9: {"x": 0.0}})
        assert decide(8, 1, taken, Counter()).point != {"x": 0.0}

    def test_a_plan_of_another_block_is_not(self) -> None:
        batches = [JointBatch(6, [{"x": float(i)} for i in range(4)])]
        assert decide(8, 4, self.look(batches=batches), Counter()).batch is not None

    def test_the_later_of_two_plans_is_taken(self) -> None:
        batches = [JointBatch(8, [{"x": 1.0}] * 4), JointBatch(9, [{"x": 2.0}] * 3)]
        assert decide(11, 4, self.look(batches=batches), Counter()).point == {"x": 2.0}

    def test_without_batches_an_earlier_undecided_trial_goes_first(self) -> None:
        first = decide(5, 1, self.look(pending={2: {"x": 7.0}}), Counter())
        counter = Counter()
        second = decide(6, 1, self.look(pending={2: {"x": 7.0}}, undecided={5}), counter)
        assert counter.asks == [([7.0], 1), ([7.0, first.point["x"]], 1)]
        assert second.point != first.point

    def test_what_was_decided_meanwhile_counts(self) -> None:
        histories = iter([{"undecided": {5}}, {"pending": {5: {"x": 33.0}}}])
        counter = Counter()
        decide(6, 1, lambda: self.look(**next(histories))(), counter)
        assert counter.asks == [([], 1), ([33.0], 1)]

    def test_later_trials_and_old_ones_do_not_hold_it_up(self) -> None:
        counter = Counter()
        decide(100, 1, self.look(undecided={3, 101}), counter)
        assert counter.asks == [([], 1)]

    def test_an_undecided_block_before_ours_is_planned_as_a_whole(self) -> None:
        counter = Counter()
        decide(8, 4, self.look(undecided={5, 6, 7}, pending={4: {"x": 9.0}}), counter)
        assert [count for _, count in counter.asks] == [3, 4]
        assert len(counter.asks[1][0]) == 4


class TestClaims:
    """Whose point it is, in every order of events; trial 5 has claimed x = 1."""

    point: ClassVar[dict[str, float]] = {"x": 1.0}

    def settled(self, *histories: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[bool, int]:
        naps: list[float] = []
        monkeypatch.setattr("compbo.integrations.optuna.claims.time.sleep", naps.append)
        views = iter(histories)
        last: dict[str, Any] = {}

        def look() -> StudyView:
            last.update(next(views, last))
            return StudyView(**last)

        return holds(self.point, 5, look), len(naps)

    def test_nobody_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.settled({"pending": {4: {"x": 2.0}, 6: {"x": 3.0}}}, monkeypatch=monkeypatch) == (True, 0)

    def test_an_earlier_trial_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.settled({"pending": {4: self.point}}, monkeypatch=monkeypatch) == (False, 0)

    def test_a_final_claim_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        view = {"pending": {6: self.point}, "final": {6}}
        assert self.settled(view, monkeypatch=monkeypatch) == (False, 0)

    def test_a_finished_trial_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        view = {"evaluations": [Evaluation(self.point, 1.0)]}
        assert self.settled(view, monkeypatch=monkeypatch) == (False, 0)

    def test_a_later_trial_that_saw_us_gives_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        views = [{"pending": {6: self.point}}, {"pending": {6: {"x": 9.0}}}]
        assert self.settled(*views, monkeypatch=monkeypatch) == (True, 1)

    def test_a_later_trial_that_did_not_see_us_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        views = [{"pending": {6: self.point}}, {"pending": {6: self.point}, "final": {6}}]
        assert self.settled(*views, monkeypatch=monkeypatch) == (False, 1)

    def test_a_later_trial_that_died_is_not_waited_for_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held, naps = self.settled({"pending": {6: self.point}}, monkeypatch=monkeypatch)
        assert held
        assert 50 < naps < 500

    def test_where_trials_have_more_parameters_there_is_nothing_to_claim(self, monkeypatch: pytest.MonkeyPatch) -> None:
        view = {"evaluations": [Evaluation(self.point, 1.0)], "repeats_allowed": True}
        assert self.settled(view, monkeypatch=monkeypatch) == (True, 0)

    def test_a_space_that_is_used_up_does_not_stop_the_study(self, asks: list[int]) -> None:
        study = optuna.create_study(sampler=cheap(n_startup_trials=2))
        study.optimize(lambda trial: trial.suggest_int("x", 0, 3), n_trials=7)
        assert {trial.params["x"] for trial in study.trials} == {0, 1, 2, 3}
        assert len(asks) <= 3 + 2 * 3  # where nothing is left, it looks for another point once
