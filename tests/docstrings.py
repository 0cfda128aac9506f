"""When does a docstring say what a function or class takes and returns?

The rule, for every public function and class of the package:

- An argument is described under `Args:`, or its name stands in the docstring ("The best of `count` points"), or its
  name is that of its type (`space: Space`), or it is an option of the command line with a help text, or it is a
  hyperparameter of a row of the catalogue with its `about`, or it is a field with a comment of its own, or the
  docstring says "as for `minimize`" and `minimize` describes it.
- What a function returns is described under `Returns:`, or the summary is what it returns ("The nearest valid point").
  A summary that begins with a verb ("Write the page") says what is done: the docstring says then what is returned.
- For the names of `compbo.__all__`, to mention an argument is not enough.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import pydoc
import re
import sys
import textwrap
import typing
from typing import Any

import compbo

VERBS = (
    *("Add", "Ask", "Be", "Begin", "Call", "Carry", "Check", "Climb", "Count", "Draw", "Evaluate", "Fit"),
    *("Join", "Keep", "Label", "List", "Load", "Make", "Maximise", "Minimise", "Optimise", "Put", "Read", "Run", "Say"),
    *("Show", "Tell", "Tune", "Turn", "Write"),
)


def undescribed(value: Any, *, sections: bool = False) -> list[str]:
    """What the docstring of a function or class leaves out; sections: to mention an argument is not enough."""
    text = inspect.getdoc(value) or ""
    known = _described_elsewhere(value)
    wrong = [
        f"{value.__name__} does not describe {p.name}"
        for p in arguments(value)
        if not (_in_sections(p.name, text) or p.name in known or (_mentioned(p, text) and not sections))
    ]
    if not text:
        wrong.append(f"{value.__name__} has no docstring")
    if _returns_something(value) and not _says_what_it_returns(text, sections):
        wrong.append(f"{value.__name__} does not say what it returns")
    return wrong


def arguments(value: Any) -> list[inspect.Parameter]:
    """What is passed to a function or class by its caller; a choice among members takes nothing."""
    if inspect.isclass(value) and (issubclass(value, enum.Enum) or typing.is_typeddict(value) or _foreign_init(value)):
        return []
    return [p for p in inspect.signature(value).parameters.values() if not p.name.startswith("_")]


def _foreign_init(cls: type) -> bool:
    """Whether a class is made as one of another library is, which describes the arguments."""
    makers = [base for base in cls.__mro__[:-1] if {"__init__", "__new__"} & set(vars(base))]
    return bool(makers) and not makers[0].__module__.startswith("compbo")


def _in_sections(name: str, text: str) -> bool:
    _, section, described = text.partition("Args:")
    return bool(section) and f"\n    {name}: " in described


def _mentioned(parameter: inspect.Parameter, text: str) -> bool:
    """Whether the name stands in the text, in the singular or the plural, or says the same as its type."""
    name = parameter.name.replace("_", " ")
    forms = {parameter.name, name, name.removesuffix("s"), f"{name}s"}
    annotation = getattr(parameter.annotation, "__forward_arg__", parameter.annotation)
    own_type = re.split(r"[\[| ]", str(annotation))[0].split(".")[-1]
    if own_type.lower() == parameter.name.replace("_", ""):
        return True
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text, re.IGNORECASE) for form in forms)


def _described_elsewhere(value: Any) -> set[str]:
    own = _fields_with_a_comment(value) | _in_init(value) if inspect.isclass(value) else _hyperparameters_of_rows(value)
    return own | _options_with_a_help_text(value) | _as_for_another(value)


def _as_for_another(value: Any) -> set[str]:
    found = set()
    for name in re.findall(r"as for\s+`([\w.]+)`", inspect.getdoc(value) or ""):
        other = getattr(sys.modules[value.__module__], name, None) or getattr(compbo, name, None) or pydoc.locate(name)
        if other is not None:
            ours = str(getattr(other, "__module__", "")).startswith("compbo")  # other libraries describe theirs
            missing = undescribed(other) if ours else []
            found |= {p.name for p in arguments(other)} - {line.split()[-1] for line in missing}
    return found


def _in_init(cls: type) -> set[str]:
    text = inspect.getdoc(cls.__init__) or ""  # type: ignore[misc]
    return {p.name for p in arguments(cls) if _in_sections(p.name, text) or _mentioned(p, text)}


def _fields_with_a_comment(cls: type) -> set[str]:
    """Fields with a comment behind them or on the lines above, those of the bases included."""
    found = set()
    for base in cls.__mro__[:-1]:
        if base.__module__.startswith("compbo"):
            source = textwrap.dedent(inspect.getsource(base))
            lines = source.splitlines()
            for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
                if isinstance(node, ast.AnnAssign) and (
                    "  # " in lines[(node.end_lineno or 1) - 1] or lines[node.lineno - 2].lstrip().startswith("# ")
                ):
                    found.add(ast.unparse(node.target))
    return found


def _options_with_a_help_text(value: Any) -> set[str]:
    """Arguments that are options of the command line, or a record with an option for every field."""
    return {p.name for p in arguments(value) if _has_help(_resolved(value, p.annotation))}


def _has_help(hint: Any) -> bool:
    if dataclasses.is_dataclass(hint):
        return all(_has_help(_resolved(hint, p.annotation)) for p in arguments(hint))
    return any(getattr(extra, "help", None) for extra in getattr(hint, "__metadata__", ()))


def _resolved(value: Any, annotation: Any) -> Any:
    """The annotation as an object; None if its module imports a name of it for type checking only."""
    try:
        return eval(annotation, vars(sys.modules[value.__module__])) if isinstance(annotation, str) else annotation
    except (NameError, TypeError):
        return None


def _hyperparameters_of_rows(function: Any) -> set[str]:
    rows = [entry for entry in compbo.CATALOGUE.values() if entry.build is function]
    return {name for entry in rows for name, h in entry.hyperparameters.items() if h.about}


def _returns_something(value: Any) -> bool:
    if not inspect.isfunction(inspect.unwrap(value)) or _options_with_a_help_text(value):
        return False  # a command returns its exit code
    return inspect.signature(value).return_annotation not in (None, "None", "NoReturn", "Iterator[None]")


def _says_what_it_returns(text: str, sections: bool) -> bool:
    if any(word in text for word in ("Returns:", "returned", "returns", "as for `")):
        return True
    return not sections and not text.startswith(tuple(f"{verb} " for verb in VERBS))
