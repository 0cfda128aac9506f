"""minimize and maximize: results, executors, failures, what they refuse."""

from __future__ import annotations

import concurrent.futures
import importlib
import inspect
import logging
import math
import os
import re
import signal
import sys
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import compbo
from compbo import Bool, Budget, Categorical, Float, Int, Space, StartPolicy
from compbo.run.result import RunError, TooManyFailuresError
from compbo.run.sent_objective import NotLoadedError, SentObjective, pickled
from objectives import bowl, dies_on_the_left, fails_on_the_left, mixed, process_id, sleeps_on_the_left

PLANE = {"x": Float(-5, 5), "y": Float(-5, 5)}
MIXED = {
    "lr": Float(1e-5, 1e-1, scale="log"),
    "depth": Int(1, 15),
    "kind": Categorical(["a", "b", "c"]),
    "flag": Bool(),
}
CHEAP: dict[str, Any] = {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8)}


def points(result: compbo.Result) -> list[dict[str, Any]]:
    return [record.params for record in result.records]


# -- the result -------------------------------------------------------------------------------------------------------


def branin(p: dict[str, Any]) -> float:
    x, y = p["x"], p["y"]
    inner = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return inner**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann(p: dict[str, Any]) -> float:
    a = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    c = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    x = np.array(list(p.values()))
    return -float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-(a * (x - c) ** 2).sum(1)))


def sphere(p: dict[str, Any]) -> float:
    return sum((v - 0.7) ** 2 for v in p.values())


PROBLEMS = [
    pytest.param(branin, {"x": Float(-5, 10), "y": Float(0, 15)}, 0.05, id="branin"),
    pytest.param(hartmann, {f"x{i}": Float(0, 1) for i in range(3)}, 0.05, id="hartmann"),
    pytest.param(sphere, {f"x{i}": Float(-2, 2) for i in range(4)}, 0.05, id="sphere"),
    pytest.param(mixed, MIXED, 0.5, id="mixed"),
]


@pytest.mark.parametrize(("f", "parameters", "share"), PROBLEMS)
def test_beats_random_search(f: Any, parameters: dict[str, Any], share: float, generator: torch.Generator) -> None:
    """Better than all but this share of 100 random searches of the same length."""
    space = Space(parameters)
    settings: dict[str, Any] = {"starts": StartPolicy(raw_batches=128, restarts=4), "budget": Budget(steps=16)}
    result = compbo.minimize(f, space, evaluations=48, batch_size=4, seed=0, **settings)
    searches = np.array([f(p) for p in space.sample(4800, generator)]).reshape(100, 48).min(axis=1)
    assert result.best_value is not None
    assert result.best_value < np.quantile(searches, share)


def test_result_and_history() -> None:
    result = compbo.minimize(fails_on_the_left, PLANE, evaluations=12, batch_size=5, **CHEAP)
    history = result.history
    assert list(history.columns) == ["number", "state", "value", "x", "y", "message"]
    assert history["number"].tolist() == list(range(12))
    done = history[history["state"] == "COMPLETE"]
    failed = history[history["state"] == "FAIL"]
    assert set(failed["message"]) == {"ArithmeticError: left"}
    assert len(done) + len(failed) == 12
    assert len(failed) > 0
    assert result.best_value == done["value"].min() == bowl(result.best_params or {})
    assert [t.points for t in result.telemetry] == [5, 5, 2]  # the last batch is what is left
    assert result.optimizer.best is not None
    assert "failed=" in repr(result)


def test_maximize_is_the_other_direction() -> None:
    down = compbo.minimize(bowl, PLANE, evaluations=10, batch_size=2, **CHEAP)
    up = compbo.maximize(lambda p: -bowl(p), Space(PLANE), evaluations=10, batch_size=2, **CHEAP)
    assert points(up) == points(down)
    assert up.best_value == -(down.best_value or 0.0)


def test_both_directions_take_the_same_arguments() -> None:
    assert inspect.signature(compbo.minimize) == inspect.signature(compbo.maximize)


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short = compbo.minimize(bowl, PLANE, evaluations=8, batch_size=4, seed=3, **CHEAP)
    long = compbo.minimize(bowl, PLANE, evaluations=16, batch_size=4, seed=3, **CHEAP)
    assert points(long)[:8] == points(short)


def test_the_objective_may_change_its_dictionary() -> None:
    def greedy(p: dict[str, Any]) -> float:
        return float(p.pop("x") ** 2 + p.pop("y") ** 2)

    assert compbo.minimize(greedy, PLANE, evaluations=4).best_params is not None


def test_callback_sees_every_evaluation() -> None:
    seen: list[int] = []
    compbo.minimize(bowl, PLANE, evaluations=5, callback=lambda o: seen.append(len(o.evaluations)), **CHEAP)
    assert seen == [1, 2, 3, 4, 5]


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned None, not a number"),
        (math.nan, "returned nan"),
        (-math.inf, "returned -inf"),
        ("0.5", "not a number"),
        ({"loss": 1.0}, "of type dict, not a number"),
        (np.ones(3), "returned ndarray of shape (3,), not one number"),
        (np.array([]), "of shape (0,), not one number"),
        (torch.ones(1, 2), "returned Tensor of shape (1, 2), not one number"),
        (np.array(["0.5"]), "not a number"),
        (torch.tensor([math.nan]), "returned nan"),
        (10**400, "not a number"),
    ],
)
def test_what_is_not_a_finite_number_has_failed(returned: Any, message: str) -> None:
    result = compbo.minimize(lambda p: returned, PLANE, evaluations=2)
    assert {record.state for record in result.records} == {"FAIL"}
    assert message in result.records[0].message
    assert result.best_params is None
    assert result.best_value is None


HALVES = [
    *(np.float32(0.5), np.array(0.5), np.array([0.5]), np.full((1, 1, 1), 0.5), pd.Series([0.5]), 0.5),
    *(torch.tensor(0.5), torch.tensor([0.5]), torch.tensor([[0.5]], requires_grad=True)),
]


@pytest.mark.parametrize("returned", [*HALVES, np.array([1]), 1, True])
def test_what_is_a_number_counts(returned: Any) -> None:
    expected = 0.5 if any(returned is half for half in HALVES) else 1.0
    assert compbo.minimize(lambda p: returned, PLANE, evaluations=1).best_value == expected


@pytest.mark.parametrize("value", HALVES)
def test_what_is_a_number_can_be_told(value: Any) -> None:
    optimizer = compbo.Optimizer(PLANE)
    optimizer.tell({"x": 0.0, "y": 0.0}, value)
    optimizer.tell([{"x": 0.0, "y": 1.0}], [value])
    assert [e.value for e in optimizer.evaluations] == [0.5, 0.5]
    with pytest.raises(ValueError, match="is not a number"):
        optimizer.tell({"x": 0.0, "y": 0.0}, np.ones(2))  # type: ignore[arg-type]


class Broken(Exception):
    """What users' objects may do when they are looked at."""

    def _raise(self) -> Any:
        raise KeyError("broken")

    __str__ = __repr__ = __float__ = _raise


def test_objects_that_raise_when_they_are_looked_at_are_failures() -> None:
    def raises(p: dict[str, Any]) -> float:
        raise Broken

    for objective, message in ((raises, "Broken: (KeyError while"), (lambda p: Broken(), "of type Broken, not a num")):
        assert message in compbo.minimize(objective, PLANE, evaluations=1).records[0].message


def test_an_exit_of_the_objective_is_a_failure() -> None:
    def leaves(p: dict[str, Any]) -> float:
        raise SystemExit("gone")

    assert compbo.minimize(leaves, PLANE, evaluations=1).records[0].message == "SystemExit: gone"


def test_failures_end_the_run_only_if_told_so(caplog: pytest.LogCaptureFixture) -> None:
    def broken(p: dict[str, Any]) -> float:
        raise RuntimeError("no luck\nsecond line")

    with caplog.at_level(logging.WARNING, "compbo"):
        assert len(compbo.minimize(broken, PLANE, evaluations=9, batch_size=3, max_failures=9).records) == 9
    first, last = (record.message for record in caplog.records)
    assert first == "evaluation 0 failed: RuntimeError: no luck"
    assert last == "Every evaluation failed, so there is no best value; the last one: RuntimeError: no luck"
    with pytest.raises(TooManyFailuresError, match=r"3 evaluations failed.*max_failures=2.*no luck") as caught:
        compbo.minimize(broken, PLANE, evaluations=9, max_failures=2)
    assert [record.state for record in caught.value.result.records] == ["FAIL"] * 3
    caplog.clear()
    with caplog.at_level(logging.WARNING, "compbo"), pytest.raises(TooManyFailuresError, match=r"^1 evaluation failed"):
        compbo.minimize(broken, PLANE, evaluations=9, max_failures=0)
    assert "no best value" not in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, "compbo"):
        compbo.minimize(fails_on_the_left, PLANE, evaluations=12, **CHEAP)
    assert "ArithmeticError: left" in caplog.text
    assert "no best value" not in caplog.text


def test_interrupt_keeps_what_was_evaluated() -> None:
    def interrupts(p: dict[str, Any]) -> float:
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(p)
        return bowl(p)

    seen: list[dict[str, Any]] = []
    result = compbo.minimize(interrupts, PLANE, evaluations=9, batch_size=3, **CHEAP)
    assert result.stopped == "interrupted"
    assert [r.params for r in result.records if r.state == "COMPLETE"] == seen


def test_an_interrupt_that_python_drops_still_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: dropped.append(args.exc_type))

    class Fragile:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # let the handler run here, where its exception is ignored
                pass

    count = [0]

    def drops(p: dict[str, Any]) -> float:
        count[0] += 1
        if count[0] == 4:
            Fragile()
        return bowl(p)

    result = compbo.minimize(drops, PLANE, evaluations=9, batch_size=3, **CHEAP)
    assert dropped == [KeyboardInterrupt]
    assert result.stopped == "interrupted"
    assert sum(r.state == "COMPLETE" for r in result.records) == 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- executors --------------------------------------------------------------------------------------------------------


def test_every_way_to_evaluate_a_batch_gives_the_same_run() -> None:
    options: dict[str, Any] = {"evaluations": 12, "batch_size": 4, "seed": 1, **CHEAP}
    alone = compbo.minimize(bowl, PLANE, **options)
    with ThreadPoolExecutor(3) as threads:
        threaded = compbo.minimize(bowl, PLANE, executor=threads, **options)
        assert threads.submit(int).result() == 0  # still open
    own = compbo.minimize(bowl, PLANE, workers=2, **options)
    assert points(alone) == points(threaded) == points(own)
    assert alone.history.equals(own.history)


def test_a_process_pool_of_the_caller() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        result = compbo.minimize(process_id, PLANE, evaluations=3, batch_size=3, executor=pool)
    assert {r.value for r in result.records}.isdisjoint({None, float(os.getpid())})


def test_a_broken_pool_of_the_caller_stops_the_run_but_loses_nothing() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(RunError, match="died") as caught:
        compbo.minimize(dies_on_the_left, PLANE, evaluations=16, executor=pool, batch_size=1, **CHEAP)
    records = caught.value.result.records
    assert [r.state for r in records] == ["COMPLETE"] * (len(records) - 1) + ["RUNNING"]
    assert records[-1].params["x"] < 0


def test_workers_that_die_or_hang_cost_one_evaluation_each() -> None:
    dead = compbo.minimize(dies_on_the_left, PLANE, evaluations=6, workers=2, batch_size=6)
    hung = compbo.minimize(sleeps_on_the_left, PLANE, evaluations=4, workers=2, batch_size=4, timeout=3.0)
    for result, message in ((dead, "the worker process died"), (hung, "not finished after 3 s")):
        for record in result.records:
            left = record.params["x"] < 0
            assert record.state == ("FAIL" if left else "COMPLETE")
            assert message in record.message if left else record.message == ""
        assert {record.state for record in result.records} == {"FAIL", "COMPLETE"}


def test_what_worker_processes_cannot_load_is_refused_with_the_way_out(tmp_path: Path) -> None:
    lock = threading.Lock()

    def locked(p: dict[str, Any]) -> float:
        with lock:
            return 0.0

    with pytest.raises(ValueError, match=r"locked cannot be sent to worker processes.*lock.*ThreadPoolExecutor"):
        compbo.minimize(locked, PLANE, evaluations=2, workers=2)
    with ProcessPoolExecutor(1) as pool, pytest.raises(ValueError, match=r"locked cannot be sent.*ThreadPoolExecutor"):
        compbo.minimize(locked, PLANE, evaluations=2, batch_size=1, executor=pool)
    (tmp_path / "only_here.py").write_text("def zero(p):\n    return 0.0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        zero = importlib.import_module("only_here").zero
        payload = pickled(zero)
    sys.modules.pop("only_here")
    with pytest.raises(NotLoadedError, match="No module named 'only_here'"):
        SentObjective(payload).load()


def test_functions_without_a_name_reach_processes() -> None:
    least = 0.25
    own = compbo.minimize(lambda p: least, PLANE, evaluations=2, workers=2)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        given = compbo.minimize(lambda p: least, PLANE, evaluations=2, batch_size=2, executor=pool)
    assert [r.value for r in (*own.records, *given.records)] == [0.25] * 4


class Loses(ThreadPoolExecutor):
    """An executor whose workers are lost in the first `times` evaluations of every point with x < 0."""

    def __init__(self, times: int) -> None:
        super().__init__(2)
        self.times, self.begun = times, Counter[int]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        params, number = args[1:]
        self.begun[number] += 1
        if params["x"] < 0 and self.begun[number] <= self.times:
            lost: concurrent.futures.Future[Any] = concurrent.futures.Future()
            lost.set_exception(OSError("node 7 is down"))
            return lost
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_evaluation_whose_worker_is_lost_runs_again_once(asynchronous: bool) -> None:
    options: dict[str, Any] = {"evaluations": 8, "batch_size": 4, "asynchronous": asynchronous, **CHEAP}
    with Loses(1) as once, Loses(2) as twice:
        saved = compbo.minimize(bowl, PLANE, executor=once, **options)
        lost = compbo.minimize(bowl, PLANE, executor=twice, **options)
    assert all(r.state == "COMPLETE" for r in saved.records)
    assert {r.state for r in lost.records} == {"COMPLETE", "FAIL"}
    for record in lost.records:
        left = record.params["x"] < 0
        assert record.message == ("lost 2 times (OSError: node 7 is down)" if left else "")
        assert twice.begun[record.number] == (2 if left else 1)


def test_what_finished_beside_a_broken_worker_is_kept() -> None:
    class Breaks(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future: concurrent.futures.Future[Any] = concurrent.futures.Future()
            if args[2] == 2:
                future.cancel()
                future.set_running_or_notify_cancel()
            else:
                future.set_result(fn(*args))
            return future

    with Breaks(1) as pool, pytest.raises(RunError, match="cancelled an evaluation") as caught:
        compbo.minimize(bowl, PLANE, evaluations=4, batch_size=4, executor=pool)
    assert [r.state for r in caught.value.result.records[:3]] == ["COMPLETE", "COMPLETE", "RUNNING"]


@pytest.mark.touches_global_rng  # Dask draws from it
def test_dask() -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=logging.ERROR
    )
    with cluster, distributed.Client(cluster) as client:
        result = compbo.minimize(fails_on_the_left, PLANE, evaluations=8, batch_size=4, executor=client.get_executor())
    alone = compbo.minimize(fails_on_the_left, PLANE, evaluations=8, batch_size=4)
    assert result.history.equals(alone.history)


def test_asynchronous_with_results_out_of_order() -> None:
    """The first evaluation ends last of all; the others free their slots as they finish."""
    total, late = 10, threading.Event()
    lock = threading.Lock()
    begun: list[dict[str, Any]] = []
    most = [0, 0]

    def objective(p: dict[str, Any]) -> float:
        with lock:
            first = not begun
            begun.append(p)
            most[0] += 1
            most[1] = max(most)
            if len(begun) == total:
                late.set()
        if first:
            assert late.wait(60)
        with lock:
            most[0] -= 1
        return bowl(p)

    with ThreadPoolExecutor(3) as pool:
        result = compbo.minimize(
            objective, PLANE, evaluations=total, batch_size=3, executor=pool, asynchronous=True, **CHEAP
        )
    assert most[1] <= 3
    assert [r.number for r in result.records] == list(range(total))
    assert len({tuple(p.values()) for p in points(result)}) == total
    assert result.optimizer.evaluations[0].params != begun[0]  # told when it finished, not when it was asked
    assert result.optimizer.pending == []
    # while the first one ran, it was pending in every ask
    assert all(t.pending >= 1 for t in result.telemetry[3:])
    assert [t.points for t in result.telemetry] == [1] * total


def test_asynchronous_with_one_worker_is_a_sequential_run() -> None:
    options: dict[str, Any] = {"evaluations": 7, "seed": 2, **CHEAP}
    assert points(compbo.minimize(bowl, PLANE, workers=1, asynchronous=True, **options)) == points(
        compbo.minimize(bowl, PLANE, **options)
    )


# -- what is refused, before anything is evaluated --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"evaluations": 0}, "evaluations must be a whole number >= 1"),
        ({"evaluations": 2.5}, "evaluations"),
        ({"workers": 0}, "workers"),
        ({"max_failures": -1}, "max_failures"),
        ({"workers": 2, "executor": concurrent.futures.Executor()}, "not both"),
        ({"executor": 4}, r"Executor.*get_executor"),
        ({"asynchronous": True}, r"(?s)asynchronous needs workers: .*executor will do"),
        ({"asynchronous": True, "workers": 2, "batch_size": 8}, "leave batch_size=8 out"),
        ({"timeout": 3.0}, "timeout needs workers"),
        ({"timeout": 0.0, "workers": 1}, "positive"),
        ({"timeout": math.inf, "workers": 1}, "positive"),
        ({"n_trials": 3}, "'n_trials' is not an option.*evaluations"),
        ({"direction": "maximize"}, "compbo.maximize"),
        ({"acquisition": "best"}, "best"),
        ({"batch_size": 0}, "batch_size"),
        ({"storage": "nodialect://x"}, "nodialect"),
        ({"storage": "/no/such/folder/run.db"}, "does not exist"),
    ],
)
def test_a_wrong_option_is_named_before_anything_is_evaluated(options: dict[str, Any], match: str) -> None:
    def never(p: dict[str, Any]) -> float:
        pytest.fail("evaluated")

    with pytest.raises(ValueError, match=match):
        compbo.minimize(never, PLANE, **{"evaluations": 3, **options})


def test_what_is_not_a_function_or_a_space_is_refused() -> None:
    with pytest.raises(ValueError, match="function of one dictionary, got int"):
        compbo.minimize(3, PLANE, evaluations=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='Parameter "x"'):
        compbo.minimize(bowl, {"x": [1, 2]}, evaluations=1)


# -- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.touches_global_rng  # rich draws from it once, when it is imported
def test_quiet_unless_somebody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    compbo.minimize(bowl, PLANE, evaluations=6, batch_size=3, **CHEAP)
    assert capfd.readouterr() == ("", "")
    compbo.minimize(bowl, PLANE, evaluations=6, batch_size=3, progress=True, **CHEAP)
    out, shown = capfd.readouterr()
    assert out == ""
    assert "6/6" in shown
    assert "best" in shown
    assert "ask" in shown


def test_the_log_tells_the_story(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "compbo"):
        compbo.minimize(bowl, PLANE, evaluations=6, batch_size=3, **CHEAP)
    text = caplog.text
    assert text.count("asked for 3 points") == 2
    assert "evaluation 5: " in text


def test_one_of_a_thing_is_not_plural(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    options: dict[str, Any] = {"storage": tmp_path / "run.log", **CHEAP}
    with caplog.at_level(logging.INFO, "compbo"):
        compbo.minimize(bowl, PLANE, evaluations=1, **options)
        result = compbo.minimize(bowl, PLANE, evaluations=2, **options)
    assert "asked for 1 point in" in caplog.text
    assert "resuming: 1 evaluation stored, 0 to be evaluated again" in caplog.text
    assert result.telemetry[0].reason == "1 point of the sobol design"
    assert "2 evaluations" in repr(result.optimizer)
    wrong = re.compile(r"\b1 (evaluations|points|asks|parameters|restarts|steps)\b")
    single = compbo.minimize(bowl, PLANE, evaluations=1)
    single.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "fitted to 1 evaluation;" in page
    text = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    for words in (caplog.text, repr(single.optimizer), text):
        assert wrong.findall(words) == []


@pytest.mark.parametrize(("place", "match"), [("no/x.html", "does not exist"), (".", "name a file"), ("f/x", "exist")])
def test_a_report_that_cannot_be_written_is_refused_by_the_name_it_was_given(
    place: str, match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").touch()
    result = compbo.minimize(bowl, PLANE, evaluations=1)
    with pytest.raises(ValueError, match=match) as caught:
        result.report(place)
    assert str(caught.value).startswith(place)
    long = "x" * 300 + ".html"
    with pytest.raises(OSError, match="too long") as refused:
        result.report(long)
    assert refused.value.filename == long
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
