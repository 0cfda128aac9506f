"""How to run the same cells again: a grid file worked out from the cells, and what they ran on."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from compbo.maximizers import CATALOGUE
from compbo.study.outputs.axes import sorted_acquisitions, sorted_optimisers
from compbo.study.outputs.phrases import listed
from compbo.study.outputs.source import InnerSpec, SurrogateSpec, cell_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from compbo.study.outputs.source import Cell

SEVERAL = "# {name} ran with several settings (`compbo study tune`); the grid has its defaults"


def grid_text(table: pd.DataFrame) -> str:
    """A grid, as TOML, whose cells hold those of the table: a block per budget and set of methods."""
    cells = [cell_from_json(text) for text in table["definition"]]
    blocks: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        blocks[_budget(cell)].append(cell)
    parts = ['about = "The cells of a report, to be run again."']
    for (batch, steps, initial, inner, kernel, priors), members in blocks.items():
        lines = [
            "[[block]]",
            f"tasks = {_texts(dict.fromkeys(cell.task for cell in members))}",
            f"optimisers = {_texts(sorted_optimisers({cell.method.optimiser for cell in members}))}",
            f"batch = {batch}",
            f"steps = {steps}",
            f"initial = {initial}",
            f"seeds = {sorted({cell.seed for cell in members})}",
            f"kernel = {json.dumps(kernel)}",
            f"priors = {json.dumps(priors)}",
        ]
        acquisitions = sorted_acquisitions({cell.method.acquisition for cell in members})
        if acquisitions:
            lines.insert(2, f"acquisitions = {_texts(acquisitions)}")
        if inner is not None:
            lines.append(f"inner = {{ {', '.join(f'{key} = {json.dumps(value)}' for key, value in inner)} }}")
        parts.append("\n".join([*lines, *_hyperparameters(members)]))
    return "\n\n".join(parts) + "\n"


def _budget(cell: Cell) -> tuple[Any, ...]:
    """What a block of a grid has one of; methods without a surrogate or inner budget join those that have one."""
    surrogate, inner = cell.surrogate or SurrogateSpec(), cell.inner or InnerSpec()
    return (cell.batch, cell.steps, cell.initial, tuple(vars(inner).items()), surrogate.kernel, surrogate.priors)


def _texts(words: Any) -> str:
    return json.dumps(list(words))


def _hyperparameters(cells: Sequence[Cell]) -> list[str]:
    """The settings that are not the catalogue's, as far as an optimiser has one set of them."""
    settings: dict[str, set[Any]] = defaultdict(set)
    for cell in cells:
        if cell.method.maximizer in CATALOGUE:
            settings[cell.method.maximizer].add(cell.method.hyperparameters)
    lines = []
    for name in sorted_optimisers(settings):
        if len(settings[name]) > 1:
            lines.append(SEVERAL.format(name=name))
            continue
        defaults = CATALOGUE[name].defaults
        changed = [(key, value) for key, value in next(iter(settings[name])) if defaults.get(key) != value]
        lines += [f"hyperparameters.{json.dumps(name)}.{key} = {json.dumps(value)}" for key, value in changed]
    return lines


def versions(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Every package with the versions that the cells of the table ran on, most frequent first."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for text, count in Counter(table["versions"]).items():
        for package, version in json.loads(text or "{}").items():
            found[package][version] += count
    return [(package, ", ".join(version for version, _ in counts.most_common())) for package, counts in found.items()]


def machines(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The machines of the table, by processor, with their cells."""
    rows = []
    for text, count in Counter(table["machine"]).most_common():
        machine = json.loads(text or "{}")
        words = [f"{machine[key]} {unit}" for key, unit in (("cores", "cores"), ("memory_gb", "GB")) if key in machine]
        name = str(machine.get("processor") or "unknown processor")
        rows.append((name, listed([*words, str(machine.get("platform", "")), f"{count} cells"])))
    threads = sorted(set(table["threads"]))
    return [*rows, ("threads per cell", ", ".join(str(count) for count in threads))]
