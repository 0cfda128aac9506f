"""Bayesian optimisation with compositional maximisation of the acquisition function.

>>> import compbo
>>> result = compbo.minimize(f, {"x": compbo.Float(0, 1)}, evaluations=32, batch_size=4, seed=0)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI
    from compbo.evaluation import Evaluation
    from compbo.maximizers import CATALOGUE, Maximizer, make_maximizer, register
    from compbo.optimizer import Optimizer
    from compbo.propose import StartPolicy, Telemetry, Verdict
    from compbo.run import Result, maximize, minimize
    from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space
    from compbo.types import Budget

__version__ = "0.1.0"

# Where each public name lives: it is imported when it is first used, so that `import compbo` stays light.
_HOMES = {
    "compbo.acquisition.integrands": ("EI", "PI", "SR", "UCB", "LogEI"),
    "compbo.evaluation": ("Evaluation",),
    "compbo.maximizers": ("CATALOGUE", "Maximizer", "make_maximizer", "register"),
    "compbo.optimizer": ("Optimizer",),
    "compbo.propose": ("StartPolicy", "Telemetry", "Verdict"),
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
    "Maximizer",
    "Optimizer",
    "Ordinal",
    "Result",
    "Space",
    "StartPolicy",
    "Telemetry",
    "Verdict",
    "make_maximizer",
    "maximize",
    "minimize",
    "register",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'compbo' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
