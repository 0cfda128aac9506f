"""Bayesmark's tuning tasks: the loss of a model as a function of its hyperparameters.

Nine models, seven data sets, four metrics. The loss is the mean over five folds of a fixed split; the generalisation
loss is that of one fit on all rows of the folds, measured on the fifth of the data that is held out. In Bayesmark a fit
takes its random numbers from the clock; here they come from the task's seed and the point: the loss is as rough as
there, and the same at every call.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from compbo.seeds import derive_seed
from compbo.study.tasks.bayesmark.datasets import CLASSIFICATION, DATASETS, REGRESSION, folds, load_split
from compbo.study.tasks.bayesmark.models import CLASSIFIERS, MODELS, REGRESSORS, BayesmarkModel, FitSetting
from compbo.study.tasks.bayesmark.reference import stored_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from compbo.space import Space

    Array = NDArray[np.float64] | NDArray[np.int64]


def _mae(model: Any, x: Array, y: Array) -> float:
    return float(np.mean(np.abs(model.predict(x) - y)))


def _mse(model: Any, x: Array, y: Array) -> float:
    return float(np.mean((model.predict(x) - y) ** 2))


def _acc(model: Any, x: Array, y: Array) -> float:
    """Accuracy as a loss: negative, as in Bayesmark, not 1 - accuracy."""
    return -float(np.mean(model.predict(x) == y))


def _nll(model: Any, x: Array, y: Array) -> float:
    """Mean negative log-likelihood, probabilities clipped at 1e-15 as scikit-learn did in Bayesmark's days."""
    p = np.clip(np.asarray(model.predict_proba(x), dtype=np.float64), 1e-15, 1 - 1e-15)
    p /= p.sum(axis=1, keepdims=True)
    return -float(np.mean(np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)])))


IMPORTED = (  # what an evaluation imports: a worker process loads it ahead
    "sklearn.calibration",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.model_selection",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.svm",
)
METRICS: dict[str, Callable[[Any, Array, Array], float]] = {"mae": _mae, "mse": _mse, "nll": _nll, "acc": _acc}
REGRESSION_METRICS = ("mae", "mse")
CLASSIFICATION_METRICS = ("nll", "acc")


def metrics_of(data: str) -> tuple[str, ...]:
    """The metrics that fit a data set.

    Args:
        data: one of `DATASETS`.

    Returns:
        Their names.

    >>> metrics_of("boston"), metrics_of("iris")
    (('mae', 'mse'), ('nll', 'acc'))
    """
    return REGRESSION_METRICS if data in REGRESSION else CLASSIFICATION_METRICS


@dataclass(frozen=True)
class BayesmarkTask:
    """The loss of one model on one data set under one metric, as a function of the model's hyperparameters.

    Args:
        model: one of `MODELS`.
        data: one of `DATASETS`.
        metric: one of `metrics_of(data)`.
        seed: of the fits' own randomness; the split and the folds do not depend on it.

    >>> task = BayesmarkTask("knn", "iris", "acc")
    >>> task.name, task.space.names
    ('knn-iris-acc', ('n_neighbors', 'p'))
    """

    model: str
    data: str
    metric: str
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what does not exist or does not fit together."""
        for what, value, known in (
            ("model", self.model, MODELS),
            ("data set", self.data, DATASETS),
            ("metric", self.metric, tuple(METRICS)),
        ):
            if value not in known:
                raise ValueError(f"Tuning task: no {what} {value!r}; there are {', '.join(known)}.")
        fitting = metrics_of(self.data)
        if self.metric not in fitting:
            raise ValueError(f"Task {self.name}: {self.data} is measured by {' or '.join(fitting)}, not {self.metric}.")

    @property
    def name(self) -> str:
        """The spec, for instance `rf-boston-mse`."""
        return f"{self.model}-{self.data}-{self.metric}"

    @property
    def _model(self) -> BayesmarkModel:
        return (CLASSIFIERS if self.data in CLASSIFICATION else REGRESSORS)[self.model]

    @property
    def space(self) -> Space:
        """Bayesmark's search space of the model."""
        return self._model.space

    @property
    def direction(self) -> Literal["minimize"]:
        """A loss, as every task."""
        return "minimize"

    @property
    def noisy(self) -> bool:
        """Whether the fit draws random numbers."""
        return self._model.noisy

    @property
    def optimum(self) -> None:
        """None: it is not known."""
        return None

    @property
    def reference(self) -> float | None:
        """L*, the smallest loss of the stored random search; None where none is stored."""
        stored = stored_reference(self.name)
        return None if stored is None else stored.best

    def evaluate(self, params: Mapping[str, Any]) -> float:
        """The mean loss over the five folds."""
        data = load_split(self.data)
        losses = [
            self._fit_and_measure(params, data.x[train], data.y[train], data.x[test], data.y[test], ("fold", k))
            for k, (train, test) in enumerate(folds(self.data))
        ]
        return float(np.mean(losses))

    def true_value(self, params: Mapping[str, Any]) -> None:  # noqa: ARG002
        """None: the expectation over the fits' randomness is not known."""
        return

    def generalisation(self, params: Mapping[str, Any]) -> float:
        """The loss on the held-out rows of one fit on all the others."""
        data = load_split(self.data)
        return self._fit_and_measure(params, data.x, data.y, data.x_held_out, data.y_held_out, ("held out",))

    def _fit_and_measure(
        self, params: Mapping[str, Any], x: Array, y: Array, x_test: Array, y_test: Array, purpose: tuple[object, ...]
    ) -> float:
        point = self.space.validate(params)
        random_state = derive_seed(self.seed, self.name, *purpose, point) % 2**32
        estimator = self._model.build(point, FitSetting(random_state, len(y), self.metric))
        with warnings.catch_warnings(), threadpool_limits(1), np.errstate(all="ignore"):
            # Odd corners of a search space do not converge or overflow; what counts is the loss.
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            loss = METRICS[self.metric](estimator.fit(x, y), x_test, y_test)
        if not np.isfinite(loss):
            raise ValueError(f"Task {self.name}: the loss is {loss} at {point}.")
        return loss


def parse_bayesmark(spec: str, seed: int = 0) -> BayesmarkTask | None:
    """The tuning task of a spec.

    Args:
        spec: MODEL-DATA-METRIC.
        seed: of the fits' own randomness.

    Returns:
        The task, or None where the spec is not of that form.

    >>> parse_bayesmark("rf-boston-mse").data
    'boston'
    """
    parts = spec.rsplit("-", 2)
    if len(parts) != 3 or parts[0] not in MODELS:
        return None
    model, data, metric = parts
    return BayesmarkTask(model, data, metric, seed)
