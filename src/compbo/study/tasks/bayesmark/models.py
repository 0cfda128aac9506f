"""The nine models of the tuning tasks: Bayesmark's search spaces, and how each becomes a scikit-learn estimator today.

Bayesmark was written for scikit-learn 0.20. What has changed since, and what is done about it:

- `normalize=` of Lasso and Ridge divided the centred columns by their Euclidean norm, and was ignored without an
  intercept. Standardising divides by norm / sqrt(n); with the penalty multiplied by sqrt(n) (Lasso: |w|) or n (Ridge:
  w^2) the fit is the same one.
- `penalty=` of LogisticRegression is `l1_ratio=`; `multi_class="ovr"` is OneVsRestClassifier around liblinear.
- `probability=` of SVC is Platt's sigmoid on 5-fold decision values: CalibratedClassifierCV without an ensemble. Only
  the `nll` tasks need it; for `acc` the class is the machine's own, as SVC.predict always was. With more than two
  classes the sigmoids are one against the rest, where libsvm's were one against one.
- AdaBoostClassifier knows SAMME only; SAMME.R, the default of those days, is gone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.extras import load_optional
from compbo.space import Bool, Float, Int, Space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Estimator = Any  # scikit-learn has no types
    Build = Callable[[Mapping[str, Any], "FitSetting"], Estimator]


class FitSetting(NamedTuple):
    """What an estimator is built for.

    Args:
        random_state: the seed of its random numbers.
        rows: how many it is fitted to.
        metric: by which it is judged.
    """

    random_state: int
    rows: int
    metric: str


class BayesmarkModel(NamedTuple):
    """A model of the tuning tasks.

    Args:
        space: its search space.
        build: makes an estimator from a point of the space and a `FitSetting`.
        noisy: whether the fit draws random numbers.
    """

    space: Space
    build: Build
    noisy: bool


def _sklearn(module: str, name: str) -> Any:
    return getattr(load_optional(f"sklearn.{module}", "study"), name)


def _plain(module: str, name: str, **fixed: Any) -> Build:
    """An estimator that takes the parameters as they are."""
    return lambda params, _: _sklearn(module, name)(**params, **fixed)


def _seeded(module: str, name: str, **fixed: Any) -> Build:
    """The same for an estimator with randomness of its own."""
    return lambda params, to: _sklearn(module, name)(**params, **fixed, random_state=to.random_state)


def _svc(params: Mapping[str, Any], to: FitSetting) -> Estimator:
    machine = _sklearn("svm", "SVC")(kernel="rbf", random_state=to.random_state, **params)
    if to.metric != "nll":
        return machine
    folds = _sklearn("model_selection", "StratifiedKFold")(5, shuffle=True, random_state=to.random_state)
    return _sklearn("calibration", "CalibratedClassifierCV")(machine, method="sigmoid", cv=folds, ensemble=False)


def _svr(params: Mapping[str, Any], to: FitSetting) -> Estimator:
    machine = _sklearn("svm", "SVR")(kernel="rbf", **params)
    machine.random_state = to.random_state  # no argument of SVR, but without it the fit draws from NumPy's global one
    return machine


def _logistic(l1_ratio: float) -> Build:
    def build(params: Mapping[str, Any], to: FitSetting) -> Estimator:
        one = _sklearn("linear_model", "LogisticRegression")(
            l1_ratio=l1_ratio, solver="liblinear", random_state=to.random_state, **params
        )
        return _sklearn("multiclass", "OneVsRestClassifier")(one)

    return build


def _normalizable(name: str, penalty_factor: Callable[[int], float], **fixed: Any) -> Build:
    """Lasso or Ridge with the `normalize` that scikit-learn dropped."""

    def build(params: Mapping[str, Any], to: FitSetting) -> Estimator:
        rest = {key: value for key, value in params.items() if key != "normalize"}
        normalize = params["normalize"] and params["fit_intercept"]
        if normalize:
            rest["alpha"] *= penalty_factor(to.rows)
        model = _sklearn("linear_model", name)(**rest, **fixed, random_state=to.random_state)
        scaler = _sklearn("preprocessing", "StandardScaler")
        return _sklearn("pipeline", "make_pipeline")(scaler(), model) if normalize else model

    return build


_KNN = Space({"n_neighbors": Int(1, 25), "p": Int(1, 4)})
_SVM = Space(
    {"C": Float(1.0, 1e3, scale="log"), "gamma": Float(1e-4, 1e-3, scale="log"), "tol": Float(1e-5, 1e-1, scale="log")}
)
_TREE = Space(
    {
        "max_depth": Int(1, 15),
        "min_samples_split": Float(0.01, 0.99, scale="logit"),
        "min_samples_leaf": Float(0.01, 0.49, scale="logit"),
        "min_weight_fraction_leaf": Float(0.01, 0.49, scale="logit"),
        "max_features": Float(0.01, 0.99, scale="logit"),
        "min_impurity_decrease": Float(0.0, 0.5),
    }
)
_MLP = {
    "hidden_layer_sizes": Int(50, 200),
    "alpha": Float(1e-5, 1e1, scale="log"),
    "batch_size": Int(10, 250),
    "learning_rate_init": Float(1e-5, 1e-1, scale="log"),
    "tol": Float(1e-5, 1e-1, scale="log"),
    "validation_fraction": Float(0.1, 0.9, scale="logit"),
}
_MLP_ADAM = Space(
    {
        **_MLP,
        "beta_1": Float(0.5, 0.99, scale="logit"),
        "beta_2": Float(0.9, 1.0 - 1e-6, scale="logit"),
        "epsilon": Float(1e-9, 1e-6, scale="log"),
    }
)
_MLP_SGD = Space({**_MLP, "power_t": Float(0.1, 0.9, scale="logit"), "momentum": Float(0.001, 0.999, scale="logit")})
_ADA = Space({"n_estimators": Int(10, 100), "learning_rate": Float(1e-4, 1e1, scale="log")})
_LOGISTIC = Space({"C": Float(1e-2, 1e2, scale="log"), "intercept_scaling": Float(1e-2, 1e2, scale="log")})


def _penalised(smallest_tol: float, **more: Bool) -> Space:
    return Space(
        {
            "alpha": Float(1e-2, 1e2, scale="log"),
            "fit_intercept": Bool(),
            "normalize": Bool(),
            "max_iter": Int(10, 5000, scale="log"),
            "tol": Float(smallest_tol, 1e-1, scale="log"),
            **more,
        }
    )


_ADAM = {"solver": "adam", "early_stopping": True}
_SGD = {"solver": "sgd", "early_stopping": True, "learning_rate": "invscaling", "nesterovs_momentum": True}

_SGD_TANH = {**_SGD, "activation": "tanh"}  # Bayesmark: regression crashes often with relu

CLASSIFIERS: dict[str, BayesmarkModel] = {
    "dt": BayesmarkModel(_TREE, _seeded("tree", "DecisionTreeClassifier"), noisy=True),
    "rf": BayesmarkModel(_TREE, _seeded("ensemble", "RandomForestClassifier", n_estimators=10), noisy=True),
    "knn": BayesmarkModel(_KNN, _plain("neighbors", "KNeighborsClassifier"), noisy=False),
    "svm": BayesmarkModel(_SVM, _svc, noisy=True),
    "linear": BayesmarkModel(_LOGISTIC, _logistic(0.0), noisy=False),
    "lasso": BayesmarkModel(_LOGISTIC, _logistic(1.0), noisy=False),
    "ada": BayesmarkModel(_ADA, _seeded("ensemble", "AdaBoostClassifier"), noisy=True),
    "mlp-adam": BayesmarkModel(_MLP_ADAM, _seeded("neural_network", "MLPClassifier", **_ADAM), noisy=True),
    "mlp-sgd": BayesmarkModel(_MLP_SGD, _seeded("neural_network", "MLPClassifier", **_SGD), noisy=True),
}
REGRESSORS: dict[str, BayesmarkModel] = {
    "dt": BayesmarkModel(_TREE, _seeded("tree", "DecisionTreeRegressor"), noisy=True),
    "rf": BayesmarkModel(_TREE, _seeded("ensemble", "RandomForestRegressor", n_estimators=10), noisy=True),
    "knn": BayesmarkModel(_KNN, _plain("neighbors", "KNeighborsRegressor"), noisy=False),
    "svm": BayesmarkModel(_SVM, _svr, noisy=False),
    "linear": BayesmarkModel(_penalised(1e-4), _normalizable("Ridge", float, solver="auto"), noisy=False),
    "lasso": BayesmarkModel(_penalised(1e-5, positive=Bool()), _normalizable("Lasso", math.sqrt), noisy=False),
    "ada": BayesmarkModel(_ADA, _seeded("ensemble", "AdaBoostRegressor"), noisy=True),
    "mlp-adam": BayesmarkModel(_MLP_ADAM, _seeded("neural_network", "MLPRegressor", **_ADAM), noisy=True),
    "mlp-sgd": BayesmarkModel(_MLP_SGD, _seeded("neural_network", "MLPRegressor", **_SGD_TANH), noisy=True),
}
MODELS = tuple(REGRESSORS)
