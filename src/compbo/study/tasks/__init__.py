"""The black boxes of the study: synthetic functions, hyperparameter tuning, and your own."""

from compbo.study.tasks.bayesmark.reference import Reference, require_reference, stored_reference
from compbo.study.tasks.bayesmark.task import TuningTask
from compbo.study.tasks.registry import FAMILIES, get_task, list_tasks
from compbo.study.tasks.synthetic import SyntheticTask
from compbo.study.tasks.task import FunctionTask, Task

__all__ = [
    "FAMILIES",
    "FunctionTask",
    "Reference",
    "SyntheticTask",
    "Task",
    "TuningTask",
    "get_task",
    "list_tasks",
    "require_reference",
    "stored_reference",
]
