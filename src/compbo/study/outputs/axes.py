"""What a row is about: the parts of its task, and the place of its method among the others."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from compbo.maximizers import CATALOGUE
from compbo.study.outputs.source import KINDS, optimiser_names
from compbo.study.tasks.bayesmark.datasets import REGRESSION
from compbo.study.tasks.bayesmark.task import parse_bayesmark
from compbo.study.tasks.synthetic import FUNCTIONS, parse_synthetic

if TYPE_CHECKING:
    import pandas as pd

SYNTHETIC, TUNING, OWN = "synthetic", "tuning", "own"
PLAIN, SHIFTED, NOISY = "plain", "shifted", "noisy"
VARIANTS = (PLAIN, SHIFTED, NOISY, OWN)
VARIANT_WORDS = {PLAIN: "synthetic functions", SHIFTED: "shifted functions", NOISY: "noisy functions", OWN: "own tasks"}
REGRESSION_TASKS, CLASSIFICATION_TASKS = "regression", "classification"

ACQUISITIONS = ("ei", "pi", "sr", "ucb", "logei")  # in the order of the paper, then what came after it
FUNCTION_ORDER = tuple(FUNCTIONS)

# Classes of optimisers, in the order in which they are listed everywhere; RS is a class of its own, as in the paper.
CLASSES = {
    "random": "random batches (RS)",
    "zeroth": "zeroth order",
    "zeroth-comp": "zeroth order, compositional",
    "first": "first order",
    "first-comp": "first order, compositional",
    "second": "second order",
    "second-comp": "second order, compositional",
    "extended": "after the paper",
    "default": "compbo as it comes, and variants",
    "thompson": "Thompson sampling",
    "bohb": "BOHB",
    "random-search": "random search",
    "peer": "other packages",
    "other": "others",
}
COMPOSITIONAL = ("first", "first-comp")  # the two classes that the questions compare
_ORDERS = {0: "zeroth", 1: "first", 2: "second"}


class TaskAxes(NamedTuple):
    """The parts of a task's name; empty where they do not apply."""

    family: str  # synthetic, tuning or own
    function: str = ""  # of a synthetic or an own task
    variant: str = ""  # plain, shifted, noisy or own
    model: str = ""  # of a tuning task
    data: str = ""  # of a tuning task
    metric: str = ""  # of a tuning task
    problem: str = ""  # regression or classification


class MethodAxes(NamedTuple):
    """The place of an optimiser among the others."""

    member: str  # its row of Table 1, ERM and FSM together
    category: str  # NonComp, Comp, extended, or a kind of baseline
    order: int  # -1 outside the catalogue
    form: str  # ERM, FSM, Comp or ME; "" outside the catalogue
    group: str  # a key of CLASSES


@lru_cache(maxsize=4096)
def task_axes(task: str) -> TaskAxes:
    """The parts of a task's name, for instance of `levy-16-shifted` or `rf-boston-mse`."""
    if ":" in task:
        return TaskAxes(OWN, function=task, variant=OWN)
    synthetic = parse_synthetic(task)
    if synthetic is not None:
        variant = NOISY if synthetic.noise else SHIFTED if synthetic.shifted else PLAIN
        return TaskAxes(SYNTHETIC, function=synthetic.function, variant=variant)
    tuning = parse_bayesmark(task)
    if tuning is None:
        return TaskAxes(OWN, function=task, variant=OWN)
    problem = REGRESSION_TASKS if tuning.data in REGRESSION else CLASSIFICATION_TASKS
    return TaskAxes(TUNING, model=tuning.model, data=tuning.data, metric=tuning.metric, problem=problem)


@lru_cache(maxsize=512)
def method_axes(optimiser: str) -> MethodAxes:
    """The place of an optimiser, given its name in the grid."""
    entry = CATALOGUE.get(optimiser)
    if entry is not None:
        member = optimiser.removesuffix("-ERM").removesuffix("-FSM")
        return MethodAxes(member, entry.category, entry.order, entry.form, _class_of(optimiser))
    kind = KINDS.get(optimiser)
    return MethodAxes(optimiser, "other" if kind is None else kind.group, -1, "", _class_of(optimiser))


def _class_of(optimiser: str) -> str:
    entry = CATALOGUE.get(optimiser)
    if optimiser == "RS":
        return "random"
    if entry is not None:
        if entry.category == "extended":
            return "extended"
        return _ORDERS[entry.order] + ("-comp" if entry.category == "Comp" else "")
    if optimiser.startswith("thompson-"):
        return "thompson"
    if optimiser in CLASSES:
        return optimiser
    if optimiser not in KINDS:
        return "other"
    return "default" if KINDS[optimiser].group == "default" else "peer"


@lru_cache(maxsize=1)
def optimiser_order() -> dict[str, int]:
    """The place of every known optimiser in lists: by class, then as in the catalogue."""
    names = optimiser_names()
    by_class = sorted(names, key=lambda name: (list(CLASSES).index(_class_of(name)), names.index(name)))
    return {name: place for place, name in enumerate(by_class)}


def sorted_optimisers(names: object) -> list[str]:
    """Names in the order of `optimiser_order`, unknown ones last."""
    known = optimiser_order()
    return sorted(set(names), key=lambda name: (known.get(name, len(known)), name))  # type: ignore[call-overload]


def sorted_acquisitions(names: object) -> list[str]:
    """Names of acquisition functions in the order of the paper."""
    places = {name: place for place, name in enumerate(ACQUISITIONS)}
    return sorted(set(names) - {""}, key=lambda name: (places.get(name, len(places)), name))  # type: ignore[call-overload]


def sorted_functions(names: object) -> list[str]:
    """Names of functions in the order of the paper."""
    places = {name: place for place, name in enumerate(FUNCTION_ORDER)}
    return sorted(set(names), key=lambda name: (places.get(name, len(places)), name))  # type: ignore[call-overload]


def with_axes(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column for every part of task and method."""
    tasks = [task_axes(task) for task in table["task"]]
    methods = [method_axes(name) for name in table["optimiser"]]
    parts = {name: [getattr(axes, name) for axes in tasks] for name in TaskAxes._fields}
    places = {name: [getattr(axes, name) for axes in methods] for name in MethodAxes._fields}
    return table.assign(**parts, **places)
