"""Tasks by name: the built-in ones by their spec, your own by a registered name or by `module:object`."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from compbo.evaluation import describe
from compbo.plugins import HOW_TO_ADD, load_installed
from compbo.study.tasks.bayesmark.datasets import DATASETS
from compbo.study.tasks.bayesmark.models import MODELS
from compbo.study.tasks.bayesmark.task import IMPORTED, BayesmarkTask, metrics_of, parse_bayesmark
from compbo.study.tasks.synthetic import DIMENSIONS, FUNCTIONS, SyntheticTask, parse_synthetic
from compbo.study.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

FAMILIES = ("synthetic", "shifted", "tuning", "own")
OWN: dict[str, Task | Callable[[int], Task]] = {}  # what was registered, by name


def register(task: Task | Callable[[int], Task], name: str | None = None) -> Task | Callable[[int], Task]:
    """Make a task of your own known by its name, in grids and cells.

    Args:
        task: a task, or a function of the seed that returns one.
        name: letters, digits, `-`, `_` and `.`; None: the task's name, or that of the function.

    Returns:
        The task or the function itself; a ValueError if it is neither, or if the name is taken by another.

    >>> from compbo.space import Float, Space
    >>> from compbo.study.tasks import FunctionTask
    >>> bowl = register(FunctionTask("bowl", Space({"x": Float(-1, 1)}), lambda params: params["x"] ** 2))
    >>> get_task("bowl") is bowl, "bowl" in list_tasks("own")
    (True, True)
    >>> del OWN["bowl"]
    """
    if isinstance(task, type) or not (isinstance(task, Task) or callable(task)):
        raise ValueError(f"register: a task, or a function of the seed that returns one, is wanted, got {task!r}.")
    name = str(getattr(task, "name", None) or getattr(task, "__name__", "")) if name is None else name
    if not re.fullmatch(r"[\w.-]+", name) or name in FAMILIES:
        raise ValueError(f"register: the name of a task has letters, digits, -, _ and . only, got {name!r}.")
    if _is_builtin(name) or OWN.get(name, task) is not task:
        raise ValueError(f"register: there is a task called {name!r} already; choose another name.")
    OWN[name] = task
    return task


def _is_builtin(name: str) -> bool:
    try:
        return parse_builtin(name) is not None
    except ValueError:  # it begins as one
        return True


def list_tasks(family: str | None = None) -> list[str]:
    """The specs of the tasks that have a name: the built-in ones, and those that are registered.

    The synthetic ones are listed at the paper's dimensions; `get_task` takes any dimension, and a noise.

    Args:
        family: one of `FAMILIES`; None: all of them.

    Returns:
        The specs, in a fixed order.

    >>> len(list_tasks("tuning")), list_tasks("shifted")[0]
    (126, 'dixon-price-16-shifted')
    """
    if family is None:
        return [name for each in FAMILIES for name in list_tasks(each)]
    if family == "tuning":
        return [BayesmarkTask(model, data, m).name for data in DATASETS for m in metrics_of(data) for model in MODELS]
    if family in ("synthetic", "shifted"):
        return [SyntheticTask(f, d, shifted=family == "shifted").name for f in FUNCTIONS for d in DIMENSIONS]
    if family == "own":
        return list(OWN)
    raise ValueError(f"No family of tasks {family!r}; there are {', '.join(FAMILIES)}.")


def parse_builtin(spec: str, seed: int = 0) -> SyntheticTask | BayesmarkTask | None:
    """The built-in task of a spec.

    Args:
        spec: for instance `levy-16` or `rf-boston-mse`.
        seed: of the task's noise.

    Returns:
        The task; None for `module:object`, and where no built-in task is written like this. A ValueError for a spec
        that begins well and is wrong, for instance a function with an impossible dimension.

    >>> parse_builtin("levy-4-shifted")
    SyntheticTask(function='levy', dimension=4, shifted=True, noise=0.0, seed=0)
    >>> parse_builtin("mypackage.tasks:furnace") is None
    True
    """
    if ":" in spec:
        return None
    return parse_synthetic(spec, seed) or parse_bayesmark(spec, seed)


def modules_of(spec: str) -> tuple[str, ...]:
    """Modules that an evaluation of a task imports.

    Args:
        spec: of the task.

    Returns:
        Names of modules, as far as they are known.

    >>> modules_of("levy-16"), "sklearn.svm" in modules_of("svm-iris-acc")
    ((), True)
    """
    try:
        task = parse_builtin(spec)
    except ValueError:  # for `get_task` to tell
        return ()
    return IMPORTED if isinstance(task, BayesmarkTask) else ()


def get_task(spec: str, seed: int = 0) -> Task:
    """The task of a spec: `levy-16-shifted`, `rf-boston-mse`, one that is registered, or `package.module:object`.

    Args:
        spec: its name. The object behind `module:object` is a task, or a function of the seed that returns one.
        seed: of the task's noise.

    Returns:
        The task; a ValueError that says how tasks are written if there is none.

    >>> task = get_task("ackley-2")
    >>> task.space.dim, task.optimum, abs(task.evaluate({"x1": 0.0, "x2": 0.0})) < 1e-12
    (2, 0.0, True)
    """
    task = parse_builtin(spec, seed)
    if task is not None:
        return task
    module, colon, path = spec.partition(":")
    if colon:
        return _own_task(module, path, seed)
    if spec not in OWN:
        load_installed()
    if spec in OWN:
        return _as_task(spec, spec, OWN[spec], seed)
    raise ValueError(
        f"No task {spec!r}. Synthetic: FUNCTION-DIMENSION[-shifted][-noiseSTD] with {', '.join(FUNCTIONS)}; "
        f"tuning: MODEL-DATA-METRIC with {', '.join(MODELS)} and {', '.join(DATASETS)}; your own: module:object, or a "
        f"registered name{f' ({known})' if (known := ', '.join(OWN)) else ''}. {HOW_TO_ADD}"
    )


def _own_task(module_name: str, path: str, seed: int) -> Task:
    spec = f"{module_name}:{path}"
    if not module_name or not path:
        raise ValueError(f"Task {spec!r}: write module:object, for instance mypackage.tasks:furnace.")
    try:
        found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a module of the user's may raise anything as it is loaded
        raise ValueError(f"Task {spec!r}: {module_name} cannot be imported: {describe(error)}.") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise ValueError(f"Task {spec!r}: {module_name} has no {path!r}.")
        found = getattr(found, name)
    return _as_task(spec, path, found, seed)


def _as_task(spec: str, path: str, found: object, seed: int) -> Task:
    """The object behind a spec, or what it makes of the seed; ValueError if that is no task."""
    if not isinstance(found, Task) and callable(found):
        found = found(seed)
    if isinstance(found, type) or not isinstance(found, Task):
        kind = type(found).__name__
        raise ValueError(
            f"Task {spec!r}: {path} is of type {kind}, neither a task nor a function of the seed that returns one; "
            f"compbo.study.tasks.FunctionTask makes a task of a space and a function."
        )
    return found
