"""Bayesian optimisation with compositional maximisation of the acquisition function.

>>> import compbo
>>> result = compbo.minimize(lambda p: (p["x"] - 0.3) ** 2, {"x": compbo.Float(0, 1)}, evaluations=8, batch_size=2)
>>> result.best_value < 0.1
True
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from compbo.versions import VERSION

if TYPE_CHECKING:
    from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI
    from compbo.acquisition.portfolio import Portfolio
    from compbo.bo.cross_validation import CrossValidation
    from compbo.bo.numbered_point import NumberedPoint
    from compbo.bo.optimizer import Optimizer
    from compbo.bo.prediction import Prediction
    from compbo.bo.settings import Settings
    from compbo.bo.starts import StartPolicy
    from compbo.bo.telemetry import Telemetry
    from compbo.bo.verdict import Verdict
    from compbo.errors import OptionError
    from compbo.evaluation import Evaluation
    from compbo.maximizers import CATALOGUE, Maximizer, make_maximizer
    from compbo.parts import register
    from compbo.run.api import maximize, minimize
    from compbo.run.load import load
    from compbo.run.result import AlwaysFailsError, Result, RunError, TooManyFailuresError
    from compbo.run.stops import STOP, Stopped
    from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space
    from compbo.types import Budget

__version__ = VERSION

# Where each public name lives: it is imported when it is first used, so that `import compbo` stays light.
_HOMES = {
    "compbo.acquisition.integrands": ("EI", "PI", "SR", "UCB", "LogEI"),
    "compbo.acquisition.portfolio": ("Portfolio",),
    "compbo.bo.cross_validation": ("CrossValidation",),
    "compbo.bo.numbered_point": ("NumberedPoint",),
    "compbo.bo.optimizer": ("Optimizer",),
    "compbo.bo.prediction": ("Prediction",),
    "compbo.bo.settings": ("Settings",),
    "compbo.bo.starts": ("StartPolicy",),
    "compbo.bo.telemetry": ("Telemetry",),
    "compbo.bo.verdict": ("Verdict",),
    "compbo.errors": ("OptionError",),
    "compbo.evaluation": ("Evaluation",),
    "compbo.maximizers": ("CATALOGUE", "Maximizer", "make_maximizer"),
    "compbo.parts": ("register",),
    "compbo.run.api": ("maximize", "minimize"),
    "compbo.run.load": ("load",),
    "compbo.run.result": ("AlwaysFailsError", "Result", "RunError", "TooManyFailuresError"),
    "compbo.run.stops": ("STOP", "Stopped"),
    "compbo.space": ("Bool", "Categorical", "Constant", "Float", "Int", "Ordinal", "Space"),
    "compbo.types": ("Budget",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOGUE",
    "EI",
    "PI",
    "SR",
    "STOP",
    "UCB",
    "AlwaysFailsError",
    "Bool",
    "Budget",
    "Categorical",
    "Constant",
    "CrossValidation",
    "Evaluation",
    "Float",
    "Int",
    "LogEI",
    "Maximizer",
    "NumberedPoint",
    "Optimizer",
    "OptionError",
    "Ordinal",
    "Portfolio",
    "Prediction",
    "Result",
    "RunError",
    "Settings",
    "Space",
    "StartPolicy",
    "Stopped",
    "Telemetry",
    "TooManyFailuresError",
    "Verdict",
    "load",
    "make_maximizer",
    "maximize",
    "minimize",
    "register",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'compbo' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
