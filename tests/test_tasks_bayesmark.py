"""The tuning tasks against scikit-learn's own cross-validation, closed forms and what Bayesmark defines."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

from compbo.extras import load_optional
from compbo.seeds import stream
from compbo.study.tasks import BayesmarkTask, Task, get_task, list_tasks
from compbo.study.tasks.bayesmark.datasets import DATASETS, folds, load_rows, load_split
from compbo.study.tasks.bayesmark.models import CLASSIFIERS, MODELS, REGRESSORS, FitSetting
from compbo.study.tasks.bayesmark.task import METRICS

KNN = {"n_neighbors": 7, "p": 3}
RIDGE = {"alpha": 3.0, "fit_intercept": True, "normalize": False, "max_iter": 100, "tol": 1e-3}
LASSO = {**RIDGE, "alpha": 0.05, "max_iter": 5000, "tol": 1e-5, "positive": False}


def _point(task, number=0):
    return task.space.sample(1, stream(number, "test", task.name))[0]


def test_nine_models_on_seven_data_sets():
    names = list_tasks("tuning")
    assert len(names) == len(set(names)) == 9 * (2 * 2 + 5 * 2)
    for name in names:
        task = get_task(name)
        assert isinstance(task, Task)
        assert task.name == name
        assert pickle.loads(pickle.dumps(task)) == task


def test_the_spaces_are_bayesmarks():
    dims = {"dt": 6, "rf": 6, "knn": 2, "svm": 3, "ada": 2, "mlp-adam": 9, "mlp-sgd": 8}
    assert {name: model.space.dim for name, model in CLASSIFIERS.items()} == {**dims, "linear": 2, "lasso": 2}
    assert {name: model.space.dim for name, model in REGRESSORS.items()} == {**dims, "linear": 5, "lasso": 6}
    forest = REGRESSORS["rf"].space.to_dict()
    assert forest["max_features"] == {"type": "float", "low": 0.01, "high": 0.99, "scale": "logit"}
    assert forest["max_depth"] == {"type": "int", "low": 1, "high": 15, "scale": "linear"}
    assert REGRESSORS["lasso"].space.to_dict()["max_iter"] == {"type": "int", "low": 10, "high": 5000, "scale": "log"}


def test_the_shipped_data_are_what_they_claim():
    x, y = load_rows("boston")
    assert x.shape == (506, 13)
    assert y.mean() == pytest.approx(22.5328063241106)
    x, y = load_rows("pima")
    assert x.shape == (532, 7)
    assert y.sum() == 177
    assert np.allclose(np.median(x, axis=0), 0)
    width = np.quantile(x, 0.93, axis=0) - np.quantile(x, 0.07, axis=0)
    assert np.allclose(width, 2 * norm.ppf(0.93))


@pytest.mark.parametrize("data", DATASETS)
def test_the_split_holds_out_a_fifth_and_the_folds_cover_the_rest(data):
    split = load_split(data)
    n = len(split.y) + len(split.y_held_out)
    assert len(split.y_held_out) == int(np.ceil(0.2 * n))
    rows = np.concatenate([test for _, test in folds(data)])
    assert sorted(rows) == list(range(len(split.y)))


def test_regression_losses_are_those_of_cross_val_score():
    data = load_split("boston")
    for metric, scoring in (("mse", "neg_mean_squared_error"), ("mae", "neg_mean_absolute_error")):
        for task, point, model in (
            (BayesmarkTask("knn", "boston", metric), KNN, KNeighborsRegressor(**KNN)),
            (BayesmarkTask("linear", "boston", metric), RIDGE, Ridge(alpha=3.0, max_iter=100, tol=1e-3)),
        ):
            expected = -cross_val_score(model, data.x, data.y, scoring=scoring, cv=5).mean()
            assert task.evaluate(point) == pytest.approx(expected, rel=1e-10)
            residual = model.fit(data.x, data.y).predict(data.x_held_out) - data.y_held_out
            held_out = np.mean(residual**2) if metric == "mse" else np.mean(abs(residual))
            assert task.generalisation(point) == pytest.approx(held_out, rel=1e-10)


def test_classification_losses_are_those_of_cross_val_score():
    data = load_split("wine")
    model = KNeighborsClassifier(**KNN)
    accuracy = cross_val_score(model, data.x, data.y, scoring="accuracy", cv=5).mean()
    assert get_task("knn-wine-acc").evaluate(KNN) == pytest.approx(-accuracy, rel=1e-12)
    losses = []
    for train, test in folds("wine"):
        p = np.clip(model.fit(data.x[train], data.y[train]).predict_proba(data.x[test]), 1e-15, 1 - 1e-15)
        losses.append(log_loss(data.y[test], p / p.sum(1, keepdims=True)))
    assert get_task("knn-wine-nll").evaluate(KNN) == pytest.approx(np.mean(losses), rel=1e-12)
    model.fit(data.x, data.y)
    expected = -accuracy_score(data.y_held_out, model.predict(data.x_held_out))
    assert get_task("knn-wine-acc").generalisation(KNN) == pytest.approx(expected)


def test_svm_accuracy_is_the_machines_own():
    data = load_split("iris")
    point = {"C": 30.0, "gamma": 3e-4, "tol": 1e-3}
    accuracy = cross_val_score(SVC(**point, random_state=0), data.x, data.y, cv=5).mean()
    assert get_task("svm-iris-acc").evaluate(point) == pytest.approx(-accuracy)


def _normalised(x):
    centred = x - x.mean(0)
    return centred / np.linalg.norm(centred, axis=0)


def test_normalize_of_ridge_is_the_closed_form():
    data = load_split("diabetes")
    x = data.x[:, :6] * np.arange(1, 7)
    unit = _normalised(x)
    weights = np.linalg.solve(unit.T @ unit + 3.0 * np.eye(6), unit.T @ (data.y - data.y.mean()))
    setting = FitSetting(0, len(x), "mse")
    model = REGRESSORS["linear"].build({**RIDGE, "normalize": True}, setting).fit(x, data.y)
    assert np.allclose(model.predict(x), data.y.mean() + unit @ weights, rtol=1e-10)
    without = REGRESSORS["linear"].build({**RIDGE, "normalize": True, "fit_intercept": False}, setting).fit(x, data.y)
    assert np.allclose(without.coef_, np.linalg.solve(x.T @ x + 3.0 * np.eye(6), x.T @ data.y))


def test_normalize_of_lasso_satisfies_its_optimality_conditions():
    data = load_split("diabetes")
    unit, n = _normalised(data.x), len(data.y)
    setting = FitSetting(0, n, "mse")
    model = REGRESSORS["lasso"].build({**LASSO, "normalize": True, "tol": 1e-10}, setting).fit(data.x, data.y)
    weights = model[-1].coef_ * np.sqrt(n)  # from standardised to unit-norm columns
    assert np.allclose(model.predict(data.x), data.y.mean() + unit @ weights)
    slope = unit.T @ (data.y - model.predict(data.x)) / n
    active = weights != 0
    assert 0 < active.sum() < len(weights)
    assert np.allclose(slope[active], LASSO["alpha"] * np.sign(weights[active]), atol=1e-6)
    assert np.all(np.abs(slope[~active]) <= LASSO["alpha"] + 1e-6)


@pytest.mark.parametrize("name", [f"{m}-{d}" for m in MODELS for d in ("diabetes-mse", "iris-nll", "iris-acc")])
def test_every_model_gives_a_loss(name):
    task = get_task(name)
    quick = {"tol": 0.1, "n_estimators": 10, "batch_size": 250}
    point = {key: quick.get(key, value) for key, value in _point(task).items()}
    loss = task.evaluate(point)
    assert np.isfinite(loss)
    assert np.isfinite(task.generalisation(point))
    assert -1 <= loss <= 0 if name.endswith("acc") else loss > 0
    assert task.optimum is None
    assert task.true_value(point) is None


@pytest.mark.parametrize("name", ["rf-pima-nll", "svm-pima-nll", "mlp-adam-iris-nll"])
def test_randomness_belongs_to_the_seed_and_the_point(name):
    task, point = get_task(name), _point(get_task(name), 1)
    first = task.evaluate(point)
    _ = np.random.default_rng().random()
    assert task.evaluate(dict(reversed(point.items()))) == first
    assert get_task(name, seed=1).evaluate(point) != first
    assert task.noisy


def test_the_same_loss_in_another_process():
    name = "rf-diabetes-mae"
    call = f"get_task({name!r}).evaluate({_point(get_task(name))})"
    script = f"from compbo.study.tasks import get_task; print(repr({call}))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert float(out) == get_task(name).evaluate(_point(get_task(name)))


def test_failed_fits_are_raised(monkeypatch):
    task = get_task("knn-diabetes-mse")
    with pytest.raises(ValueError, match="outside"):
        task.evaluate({"n_neighbors": 26, "p": 1})
    monkeypatch.setitem(METRICS, "mse", lambda *_: float("nan"))
    with pytest.raises(ValueError, match="Task knn-diabetes-mse: the loss is nan at"):
        task.evaluate(KNN)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rf-boston-acc", "boston is measured by mae or mse, not acc"),
        ("rf-titanic-acc", "no data set 'titanic'"),
        ("rf-iris-f1", "no metric 'f1'"),
        ("xgb-iris-acc", "No task 'xgb-iris-acc'"),
    ],
)
def test_wrong_names_are_explained(spec, message):
    with pytest.raises(ValueError, match=message):
        get_task(spec)


def test_a_missing_extra_is_named():
    with pytest.raises(ModuleNotFoundError, match=r'pip install "compbo\[study\]"'):
        load_optional("no_such_package.part", "study")
