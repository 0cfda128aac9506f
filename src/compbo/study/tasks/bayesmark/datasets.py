"""The seven data sets of the tuning tasks, split and scaled as Bayesmark does it.

Bayesmark leaves scikit-learn's own data sets (and so Boston) as they are, and scales what comes from a CSV file (so
Pima): minus the median, over the central 86 % range in units of a standard normal, clipped to +-100. A fifth of the
rows, chosen by one fixed shuffle, is held out and only used for the generalisation loss.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from compbo.extras import load_optional

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Target = NDArray[np.float64] | NDArray[np.int64]

REGRESSION = ("boston", "diabetes")
CLASSIFICATION = ("pima", "breast", "digits", "iris", "wine")
DATASETS = REGRESSION + CLASSIFICATION

_LOADERS = {  # of sklearn.datasets
    "diabetes": "load_diabetes",
    "breast": "load_breast_cancer",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}
_SPLIT_SEED = 0  # Bayesmark's shuffle_seed
_HELD_OUT = 0.2
_CENTRAL_RANGE = 0.86
_CLIP = 100.0


class SplitData(NamedTuple):
    """A data set in its split.

    Args:
        x: features of the rows of the five folds.
        y: their target.
        x_held_out: features of the rows that are held out.
        y_held_out: their target.
    """

    x: NDArray[np.float64]
    y: Target
    x_held_out: NDArray[np.float64]
    y_held_out: Target


def robust_standardize(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns minus their median, over their central 86 % range: N(0, 1) stays N(0, 1); constants are only centred.

    Args:
        x: a row per observation, a column per feature.

    Returns:
        An array of the same shape.

    >>> robust_standardize(np.array([[5.0], [5.0], [5.0]])).tolist()
    [[0.0], [0.0], [0.0]]
    """
    low, high = 0.5 * (1 - _CENTRAL_RANGE), 0.5 * (1 + _CENTRAL_RANGE)
    width = np.quantile(x, high, axis=0) - np.quantile(x, low, axis=0)
    width = np.where(width == 0, 1.0, width)
    return np.asarray((x - np.median(x, axis=0)) / width * (ndtri(high) - ndtri(low)))


def _shipped(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    with resources.files("compbo.study.tasks.bayesmark").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def load_rows(name: str) -> tuple[NDArray[np.float64], Target]:
    """A data set before the split.

    Args:
        name: one of `DATASETS`.

    Returns:
        Its features and its target.

    >>> x, y = load_rows("boston")
    >>> x.shape, y.shape
    ((506, 13), (506,))
    """
    if name == "boston":
        return _shipped("boston")
    if name == "pima":
        x, y = _shipped("pima")
        return np.clip(robust_standardize(x), -_CLIP, _CLIP), y.astype(np.int64)
    x, y = getattr(load_optional("sklearn.datasets", "study"), _LOADERS[name])(return_X_y=True)
    target: Target = np.asarray(y, np.float64) if name in REGRESSION else np.asarray(y, np.int64)
    return np.asarray(x, np.float64), target


@lru_cache(maxsize=len(DATASETS))
def load_split(name: str) -> SplitData:
    """A data set in its fixed split.

    Args:
        name: one of `DATASETS`.

    Returns:
        The rows of the folds, and those held out.
    """
    split = load_optional("sklearn.model_selection", "study").train_test_split
    x, y = load_rows(name)
    x_train, x_test, y_train, y_test = split(x, y, test_size=_HELD_OUT, random_state=_SPLIT_SEED, shuffle=True)
    return SplitData(x_train, y_train, x_test, y_test)


@lru_cache(maxsize=len(DATASETS))
def folds(name: str) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
    """The five folds of a data set, in order; stratified for classes.

    Args:
        name: one of `DATASETS`.

    Returns:
        For each the numbers of the rows to fit to and of the rows to measure on.
    """
    selection = load_optional("sklearn.model_selection", "study")
    splitter = selection.KFold(5) if name in REGRESSION else selection.StratifiedKFold(5)
    data = load_split(name)
    return tuple(splitter.split(data.x, data.y))
