"""Tune a scikit-learn model with four worker processes.

Look at: the error beside that of the default settings, and in tune_model.html at the importance of the parameters and
at the slices through the model.
"""

from functools import cache

import compbo
from compbo import Categorical, Float, Space

space = Space({
    "C": Float(1e-2, 1e3, scale="log"),
    "gamma": Float(1e-5, 1e0, scale="log"),
    "kernel": Categorical(["rbf", "sigmoid"]),
    "balanced": Categorical([True, False]),
})  # fmt: skip
DEFAULTS = {"C": 1.0, "gamma": 1 / 30, "kernel": "rbf", "balanced": False}


@cache
def data():
    """Loaded once in every worker."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def error(params):
    """1 - balanced accuracy, by cross-validation."""
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    weight = "balanced" if params["balanced"] else None
    model = SVC(C=params["C"], gamma=params["gamma"], kernel=params["kernel"], class_weight=weight)
    scores = cross_val_score(make_pipeline(StandardScaler(), model), *data(), cv=5, scoring="balanced_accuracy")
    return 1.0 - scores.mean()


if __name__ == "__main__":
    # Batches of 4 are suggested jointly, one point for every worker.
    result = compbo.minimize(error, space, evaluations=32, batch_size=4, workers=4, seed=0)
    print("default settings:", error(DEFAULTS))
    print("tuned:           ", result.best_value, result.best_params)
    result.report("tune_model.html")
