"""`compbo.load`: a stored run as a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.run.result import Result
from compbo.storage import load_study

if TYPE_CHECKING:
    from compbo.run.plan import Storage


def load(source: Storage, study_name: str | None = None) -> Result:
    """What a stored run has found, finished or not; nothing is written.

    Args:
        source: a file (run.db, or an Optuna journal), a storage URL or a storage of Optuna.
        study_name: which run, if the storage holds several.

    Returns:
        The `Result` that `minimize` returned or would return now; `load("run.db").optimizer` goes on by ask and tell.
        A study that another program wrote with Optuna is read too: the parameters that all its trials share are the
        space.

    >>> import compbo, optuna
    >>> storage = optuna.storages.InMemoryStorage()
    >>> space = {"x": compbo.Float(0, 1)}
    >>> result = compbo.minimize(lambda p: p["x"], space, evaluations=3, storage=storage)
    >>> compbo.load(storage).best_value == result.best_value
    True
    """
    study = load_study(source, study_name)
    return Result(study.optimizer, tuple(study.records), study.facts)
