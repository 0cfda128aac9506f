"""The black boxes of the study: synthetic functions, Bayesmark's tuning tasks, and your own."""

from compbo.study.tasks.bayesmark.reference import ReferenceLosses, require_reference, stored_reference
from compbo.study.tasks.bayesmark.task import BayesmarkTask
from compbo.study.tasks.registry import FAMILIES, get_task, list_tasks, modules_of, parse_builtin, register
from compbo.study.tasks.synthetic import SyntheticTask
from compbo.study.tasks.task import FunctionTask, Task

__all__ = [
    "FAMILIES",
    "BayesmarkTask",
    "FunctionTask",
    "ReferenceLosses",
    "SyntheticTask",
    "Task",
    "get_task",
    "list_tasks",
    "modules_of",
    "parse_builtin",
    "register",
    "require_reference",
    "stored_reference",
]
