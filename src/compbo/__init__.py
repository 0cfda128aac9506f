"""Bayesian optimisation with compositional maximisation of the acquisition function.

>>> import compbo
>>> result = compbo.minimize(f, {"x": compbo.Float(0, 1)}, evaluations=32, batch_size=4, seed=0)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from compbo.versions import VERSION

if TYPE_CHECKING:
    from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI
    from compbo.bo.optimizer import Optimizer
    from compbo.bo.settings import Settings
    from compbo.bo.starts import StartPolicy
    from compbo.bo.telemetry import Telemetry
    from compbo.bo.verdict import Verdict
    from compbo.evaluation import Evaluation
    from compbo.maximizers import CATALOGUE
    from compbo.run import Result, maximize, minimize
    from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space
    from compbo.types import Budget

__version__ = VERSION

# Where each public name lives: it is imported when it is first used, so that `import compbo` stays light.
_HOMES = {
    "compbo.acquisition.integrands": ("EI", "PI", "SR", "UCB", "LogEI"),
    "compbo.bo.optimizer": ("Optimizer",),
    "compbo.bo.settings": ("Settings",),
    "compbo.bo.starts": ("StartPolicy",),
    "compbo.bo.telemetry": ("Telemetry",),
    "compbo.bo.verdict": ("Verdict",),
    "compbo.evaluation": ("Evaluation",),
    "compbo.maximizers": ("CATALOGUE",),
    "compbo.run": ("Result", "maximize", "minimize"),
    "compbo.space": ("Bool", "Categorical", "Constant", "Float", "Int", "Ordinal", "Space"),
    "compbo.types": ("Budget",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOGUE",
    "EI",
    "PI",
    "SR",
    "UCB",
    "Bool",
    "Budget",
    "Categorical",
    "Constant",
    "Evaluation",
    "Float",
    "Int",
    "LogEI",
    "Optimizer",
    "Ordinal",
    "Result",
    "Settings",
    "Space",
    "StartPolicy",
    "Telemetry",
    "Verdict",
    "maximize",
    "minimize",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'compbo' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
