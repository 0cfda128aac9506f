"""Tasks by module:object, and the stored reference losses."""

import csv
import itertools

import numpy as np
import pytest
import sklearn.model_selection
import sklearn.neighbors  # noqa: F401 - the first import moves Python's global generator, which no test may do

from compbo.space import Float, Space
from compbo.study.tasks import FunctionTask, get_task, list_tasks, require_reference
from compbo.study.tasks.bayesmark import reference
from compbo.study.tasks.bayesmark.measure_reference import measure_references
from compbo.study.tasks.bayesmark.reference import COUNTS, expected_best, read_table, reference_from

MODULE = """
from compbo.space import Float, Space
from compbo.study.tasks import FunctionTask, SyntheticTask

bowl = FunctionTask("bowl", Space({"x": Float(-1, 1)}), lambda p: p["x"] ** 2, optimum=0.0)
number = 3

class inside:
    noisy = SyntheticTask("levy", 2, noise=0.1)

def seeded(seed):
    return SyntheticTask("levy", 2, noise=0.1, seed=seed)

def broken(seed):
    return None
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mytasks_module.py").write_text(MODULE)
    (tmp_path / "mytasks_broken.py").write_text("import a_package_that_is_not_there")
    (tmp_path / "mytasks_leaves.py").write_text("import sys; sys.exit(3)")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("module")
def test_own_tasks_by_import_path():
    bowl = get_task("mytasks_module:bowl")
    assert bowl.evaluate({"x": 0.5}) == 0.25
    assert (bowl.optimum, bowl.reference, bowl.direction, bowl.noisy) == (0.0, None, "minimize", False)
    assert bowl.generalisation({"x": 0.5}) is None
    assert get_task("mytasks_module:seeded", seed=5).seed == 5
    assert get_task("mytasks_module:inside.noisy").name == "levy-2-noise0.1"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mytasks_nowhere:bowl", "mytasks_nowhere cannot be imported: .*No module named 'mytasks_nowhere'"),
        ("mytasks_module:cup", "mytasks_module has no 'cup'"),
        ("mytasks_module:number", "is of type int, neither a task"),
        ("mytasks_module:broken", "is of type NoneType, neither a task"),
        ("mytasks_module:", "write module:object"),
        ("mytasks_broken:bowl", "mytasks_broken cannot be imported: .*'a_package_that_is_not_there'"),
        ("mytasks_leaves:bowl", "mytasks_leaves cannot be imported: SystemExit: 3"),
    ],
)
def test_wrong_import_paths_are_explained(spec, message):
    with pytest.raises(ValueError, match=message):
        get_task(spec)


def test_own_losses_must_be_finite():
    task = FunctionTask("log", Space({"x": Float(0, 1)}), lambda p: float("nan"))
    with pytest.raises(ValueError, match="Task log: the function returned nan"):
        task.evaluate({"x": 0.0})


def test_expected_best_is_the_mean_over_all_choices():
    losses = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]
    for k in range(1, 7):
        brute = np.mean([min(choice) for choice in itertools.combinations(losses, k)])
        assert expected_best(losses, k) == pytest.approx(brute, rel=1e-12)


def test_random_loss_falls_from_the_mean_to_the_best():
    losses = list(np.random.default_rng(0).normal(size=300))
    row = reference_from("some", losses, 2)
    assert row.random_loss(1) == pytest.approx(np.mean(losses))
    curve = [row.random_loss(k) for k in range(1, 257)]
    assert all(a > b for a, b in itertools.pairwise(curve))
    assert curve[-1] > row.best == min(losses)
    exact = [expected_best(losses, k) for k in range(1, 257)]
    assert np.allclose(curve, exact, atol=0.03)
    assert curve[95] == exact[95]
    with pytest.raises(ValueError, match="stored for 1 to 256"):
        row.random_loss(257)


def test_the_measurement_resumes_and_survives_a_cut_line(tmp_path):
    def run(name, evaluations):
        paths = [f"--log={tmp_path / name}.log", f"--output={tmp_path / name}.csv"]
        measure_references(["knn-iris-*", f"--evaluations={evaluations}", *paths])
        return (tmp_path / f"{name}.csv").read_text()

    run("twice", 2)
    log = tmp_path / "twice.log"
    log.write_text(log.read_text() + "knn-iris-nll,2,0.1")  # the power went here
    assert run("twice", 5) == run("once", 5)
    table = read_table(tmp_path / "once.csv")
    assert set(table) == {"knn-iris-nll", "knn-iris-acc"}
    row = table["knn-iris-nll"]
    assert (row.evaluations, row.failures, len(row.curve)) == (5, 0, 4)
    with (tmp_path / "once.log").open() as file:
        losses = [float(loss) for task, _, loss, _ in csv.reader(file) if task == row.task]
    assert row == reference_from(row.task, losses, 0)


def test_failures_and_slow_tasks_are_told_apart(tmp_path):
    log, out = tmp_path / "a.log", tmp_path / "a.csv"
    log.write_text('knn-iris-acc,0,,"ValueError: no"\nknn-iris-acc,1,-0.5,\n')
    measure_references(["knn-iris-acc", "--evaluations=2", f"--log={log}", f"--output={out}"])
    row = read_table(out)["knn-iris-acc"]
    assert (row.evaluations, row.failures, row.best) == (1, 1, -0.5)
    measure_references(["knn-iris-nll", "--evaluations=5", "--seconds=0", f"--log={log}", f"--output={out}"])
    assert set(read_table(out)) == {"knn-iris-acc"}


def test_tables_are_checked_and_missing_references_are_explained(tmp_path, monkeypatch):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a table of reference losses"):
        read_table(tmp_path / "bad.csv")
    monkeypatch.setattr(reference, "_shipped_table", dict)
    assert get_task("rf-boston-mse").reference is None
    with pytest.raises(ValueError, match=r"compbo\.study\.tasks\.bayesmark\.measure_reference rf-boston-mse"):
        require_reference("rf-boston-mse")


def test_every_tuning_task_has_a_consistent_reference():
    table = read_table(reference.table_path())
    assert list(table) == sorted(list_tasks("tuning"))
    for name, row in table.items():
        assert get_task(name).reference == row.best
        assert row.evaluations + row.failures >= 200
        assert row.evaluations >= COUNTS[len(row.curve) - 1]
        assert all(a >= b >= row.best for a, b in itertools.pairwise(row.curve))
