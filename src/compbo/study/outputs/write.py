"""All tables and figures by name, and the folder they are written to, with an index that says what is not there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.errors import OptionError
from compbo.study.outputs.figures import bayesmark, comparison, cost, log_regret, pairs, regret
from compbo.study.outputs.figures.canvas import FORMATS, styled
from compbo.study.outputs.figures.canvas import save as save_figure
from compbo.study.outputs.runs import NothingToShowError
from compbo.study.outputs.tables import overview, summaries, table1
from compbo.study.outputs.tables.render import save as save_table
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from compbo.study.outputs.figures.cost import MemoryMeasurement
    from compbo.study.outputs.runs import Study

TABLES: dict[str, Callable[[Study], Mapping[str, Any]]] = {
    "table1": table1.table1,
    "final-regret": summaries.final_regret,
    "regret-by-class": summaries.regret_by_class,
    "pairs": summaries.pairs_of_forms,
    "improvement": summaries.improvement,
    "ranks": summaries.ranks,
    "bayesmark-scores": summaries.scores,
    "costs": summaries.costs,
    "verdicts": summaries.verdicts,
    "tuning-domains": overview.tuning_domains,
    "acquisition-forms": overview.acquisition_forms,
    "experiments": overview.experiments,
    "missing": overview.missing,
}
FIGURES: dict[str, Callable[[Study], Mapping[str, Any]]] = {
    "regret-by-class": regret.regret_by_class,
    "bayesmark": bayesmark.bayesmark_summary,
    "fsm-against-erm": pairs.fsm_against_erm,
    "dimension-by-acquisition": regret.dimension_by_acquisition,
    "log-regret": log_regret.log_regret,
    "standard-against-me": pairs.standard_against_me,
    "time-by-dimension": cost.time_by_dimension,
    "memory": cost.memory,
    "bayesmark-boxes": bayesmark.bayesmark_boxes,
    "tuning-curves": bayesmark.tuning_curves,
    "final-regret": comparison.final_regret,
    "performance-profiles": comparison.performance_profiles,
    "probability-of-improvement": comparison.improvement,
    "critical-difference": comparison.critical_difference,
}


class Written(NamedTuple):
    """What was written, and what was not."""

    captions: dict[str, str]  # name -> caption, in order
    missing: dict[str, str]  # name -> why it was not written
    files: list[Path]  # that were written


def chosen(known: Iterable[str], names: Sequence[str]) -> list[str]:
    """The known outputs with these names, or all if none is named; OptionError for one that does not exist."""
    everything = list(known)
    for name in names:
        if name not in everything:
            all_names = ", ".join(everything)
            raise OptionError(
                "only", "{option}: no output is called {name!r}; there are {known}.", name=name, known=all_names
            )
    return [name for name in everything if name in names] if names else everything


def write_tables(study: Study, folder: Path, names: Sequence[str] = ()) -> Written:
    """Every table, or those with these names, in a folder as CSV, Markdown and LaTeX, and index.md."""
    wanted, written = chosen(TABLES, names), Written({}, {}, [])
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        try:
            made = TABLES[name](study)
        except NothingToShowError as reason:
            written.missing[name] = str(reason)
            continue
        for stem, table in made.items():
            written.files.extend(save_table(table, folder, stem))
            written.captions[stem] = table.caption
    _write_index(folder, "Tables", written, study, ("md", "csv", "tex"))
    return written


def write_figures(
    study: Study,
    folder: Path,
    names: Sequence[str] = (),
    formats: Sequence[str] = FORMATS,
    measured: Sequence[MemoryMeasurement] = (),
    done: Callable[[str], None] = lambda _: None,
) -> Written:
    """Every figure, or those with these names, in a folder in these formats, and index.md.

    measured: from `make bench ARGS=memory`. done: called with the name of every file.
    """
    wanted, written = chosen(FIGURES, names), Written({}, {}, [])
    folder.mkdir(parents=True, exist_ok=True)
    figures = dict(FIGURES)
    figures["memory"] = partial(cost.memory, measured=measured)
    for name in wanted:
        with styled():
            try:
                made = figures[name](study)
            except NothingToShowError as reason:
                written.missing[name] = str(reason)
                continue
            for stem, drawing in made.items():
                written.files.extend(save_figure(drawing, folder, stem, formats))
                written.captions[stem] = drawing.caption
                done(stem)
    _write_index(folder, "Figures", written, study, formats)
    return written


def _write_index(folder: Path, title: str, written: Written, study: Study, kinds: Sequence[str]) -> None:
    """What is here and what it shows, what is not and why."""
    lines = [f"# {title}", "", summary_words(study), ""]
    for stem, caption in written.captions.items():
        links = ", ".join(f"[{kind}]({stem}.{kind})" for kind in kinds)
        picture = [f"![{stem}]({stem}.png)", ""] if "png" in kinds else []
        lines += [f"## {stem}", "", *picture, f"{caption} ({links})", ""]
    if written.missing:
        lines += ["## Not there", ""]
        lines += [f"- {name}: {reason}." for name, reason in written.missing.items()] + [""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8", newline="\n")


def summary_words(study: Study) -> str:
    """How many cells the outputs rest on."""
    table = study.table
    failed = len(study.failed)
    tasks = table["task"].nunique()
    words = f"Made from {counted(len(table), 'cell')} on {counted(tasks, 'task')}"
    return f"{words}, {failed} of them failed." if failed else f"{words}, none of them failed."
