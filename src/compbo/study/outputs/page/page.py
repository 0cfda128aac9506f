"""The page of a study: one HTML file with everything it shows, which opens without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compbo.inputs import check_target
from compbo.report import fragments as piece
from compbo.report.document import filled, resource, script_slots, write_document
from compbo.report.theme import TEMPLATE
from compbo.study.outputs.axes import OWN, PLAIN, VARIANT_WORDS, sorted_optimisers
from compbo.study.outputs.compact import finished
from compbo.study.outputs.page import data
from compbo.study.outputs.page.answer import TOO_FEW, UNDECIDED
from compbo.study.outputs.page.answers import answers
from compbo.study.outputs.page.rerun import grid_text, machines, versions
from compbo.study.outputs.page.tables import experiments_table, missing_table, sortable_table1
from compbo.study.outputs.phrases import seeds_of
from compbo.study.outputs.runs import not_there
from compbo.versions import VERSION
from compbo.words import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from compbo.study.outputs.figures.cost import MemoryMeasurement
    from compbo.study.outputs.page.answer import Answer
    from compbo.study.outputs.runs import Study

COMMANDS = """\
compbo study run --grid study.toml --results results/ --workers 2
compbo study tables --results results/ -o tables/
compbo study figures --results results/ -o figures/
compbo study report --results results/ -o study.html"""
REGRET_SCALES = {"normalised": "normalised immediate regret", "log": "log10 of the raw regret"}
TABLE1_CAPTION = (
    "Share of the tasks won (#Best, ties split, over the tasks that an optimiser ran) and normalised final regret "
    "(NFR), ERM and FSM together. Press a column’s title to sort, once more to reverse."
)
FINAL_CAPTION = "Interquartile mean with its interval; left is better."
IMPROVEMENT_CAPTION = (
    "How often the row ends lower than the column, over all pairs of runs on the same task; the best row is on top."
)
TIME_CAPTION = "Mean seconds of one maximisation, of UCB where there are such runs, on the machines that ran the cells."
LEAD = "How acquisition functions are best maximised. Every number on this page is made from the results table alone."
VIEWS = {
    "median": "classes: the median member (fair)",
    "best": "classes: the best member at every step (the paper’s way)",
    "optimisers": "optimisers",
}


def write_page(
    study: Study, path: str | os.PathLike[str], *, title: str = "The study", measured: Sequence[MemoryMeasurement] = ()
) -> Path:
    """The path of the page, after it was written there; a file already there is replaced at once.

    The other arguments are as for `render_page`.
    """
    check_target(path)
    return write_document(path, render_page(study, title=title, measured=measured))


def render_page(study: Study, *, title: str = "The study", measured: Sequence[MemoryMeasurement] = ()) -> str:
    """The page as text, under this title.

    measured: the memory of single maximisations, from `make bench ARGS=memory`.
    """
    made = _Contents()
    slots = _words(study, title) | {
        "answers": "".join(_answer(one) for one in answers(study, measured)),
        "explore_synthetic": _explore_synthetic(study, made),
        "explore_tuning": _explore_tuning(study, made),
        "table1": _table1(study, made),
        "comparison": _comparison(study, made),
        "costs": _costs(study, made),
        "experiments": made.table("experiments", "Experiments", experiments_table(study)),
        "missing": _missing(study, made),
    }
    names = sorted_optimisers(study.table["optimiser"])
    embedded = {
        "charts": made.charts,
        "tables": made.tables,
        "explorers": made.explorers,
        "template": TEMPLATE,
        "palettes": data.palettes(names),
        "looks": data.looks(names),
    }
    here = "compbo.study.outputs.page"
    script = resource("compbo.report", "shared.js") + resource(here, "study.js")
    style = resource("compbo.report", "style.css") + resource(here, "study.css")
    return filled(resource(here, "template.html"), slots | script_slots(script, embedded) | {"style": style})


class _Contents:
    """Collects what the script needs while it hands out the places for it."""

    def __init__(self) -> None:
        self.charts: dict[str, Any] = {}
        self.tables: dict[str, Any] = {}
        self.explorers: dict[str, Any] = {}

    def chart(self, name: str, figure: data.Figure, alt: str, height: int) -> str:
        self.charts[name] = figure
        return piece.chart(name, alt, height=height, least=560)

    def table(self, name: str, label: str, table: dict[str, Any], page: int = 60) -> str:
        self.tables[name] = table
        button = f'<button type="button" data-csv="{piece.safe(name)}">Download CSV</button>'
        place = f'<div data-table="{piece.safe(name)}" data-label="{piece.safe(label)}" data-page="{page}"></div>'
        return f'<div class="head"><span></span>{button}</div>{place}'

    def explorer(self, name: str, content: dict[str, Any], y: str, scales: dict[str, str]) -> str:
        self.explorers[name] = content
        layout = {
            "xaxis": {"title": {"text": "acquisition step"}},
            "yaxis": {"title": {"text": y}},
            "legend": {"orientation": "v", "x": 1.01, "y": 1, "yanchor": "top", "font": {"size": 10}},
        }
        chart = self.chart(name, {"data": [], "layout": layout}, y, height=480)
        scale = f"<label class='control'>Scale {_select('data-scale', scales)}</label>" if scales else ""
        return (
            f'<div data-explore="{name}"><div class="head">'
            f'<label class="control">Show {_select("data-view", VIEWS)}</label>{scale}</div>'
            f'<div class="filters"></div><figure>{chart}'
            '<figcaption class="status" role="status"></figcaption></figure></div>'
        )


def _select(mark: str, options: dict[str, str]) -> str:
    inside = "".join(f'<option value="{key}">{piece.safe(words)}</option>' for key, words in options.items())
    return f"<select {mark}>{inside}</select>"


def _answer(answer: Answer) -> str:
    open_mark = " open" if answer.verdict in (TOO_FEW, UNDECIDED) else ""
    sentences = "".join(f"<p>{piece.safe(sentence)}</p>" for sentence in answer.sentences)
    verdict = f'<p class="verdict{open_mark}">{piece.safe(answer.verdict)}</p>'
    return f'<li><p class="question">{piece.safe(answer.question)}</p>{verdict}{sentences}</li>'


def _explore_synthetic(study: Study, made: _Contents) -> str:
    import pandas as pd

    if not study.variants:
        return piece.empty("There is no finished run on a task whose optimum is known.")
    rows = pd.concat([study.synthetic(variant) for variant in study.variants])
    content = data.explorer(rows, data.SYNTHETIC_AXES, higher=False)
    return made.explorer("synthetic", content, REGRET_SCALES["normalised"], REGRET_SCALES)


def _explore_tuning(study: Study, made: _Contents) -> str:
    rows = study.tuning[study.tuning["score"].notna()]
    if not len(rows):
        return piece.empty("There is no finished run on a tuning task with a stored random search.")
    content = data.explorer(rows, data.TUNING_AXES, higher=True)
    words = "Bayesmark score (100: best known, 0: random search)"
    return made.explorer("tuning", content, words, {})


def _table1(study: Study, made: _Contents) -> str:
    if not study.variants:
        return piece.empty("There is no finished run on a task whose optimum is known.")
    parts = [f'<p class="caption">{TABLE1_CAPTION}</p>']
    for variant in study.variants:
        table = sortable_table1(study, variant)
        if table is None:
            parts.append(piece.empty("No optimiser with an acquisition function has a finished run."))
            continue
        heading = "" if variant == PLAIN else f"<h3>{piece.safe(VARIANT_WORDS[variant].capitalize())}</h3>"
        name = "table1" if variant == PLAIN else f"table1-{variant}"
        parts.append(heading + made.table(name, "Table 1", table))
    return "".join(parts)


def _comparison(study: Study, made: _Contents) -> str:
    if not study.variants:
        return piece.empty("There is no finished run on a task whose optimum is known.")
    variant = study.variants[0]
    rows = study.synthetic(variant)
    names = rows["optimiser"].nunique()
    final = made.chart("final", data.final_figure(rows), "Final regret of every optimiser", height=120 + 19 * names)
    where = f"On the {VARIANT_WORDS[variant]}, {seeds_of(rows)}."
    parts = [f'<p class="caption">{piece.safe(where)}</p>', _figure("Final regret", final, FINAL_CAPTION)]
    improvement = data.improvement_figure(rows)
    if improvement is None:
        return "".join([*parts, piece.empty("It takes two optimisers with an acquisition function to compare them.")])
    height = 200 + 18 * len(improvement["data"][0]["x"])
    chart = made.chart("improvement", improvement, "Probability of improvement", height=height)
    return "".join([*parts, _figure("Probability of improvement", chart, IMPROVEMENT_CAPTION)])


def _figure(title: str, chart: str, caption: str) -> str:
    heading = f"<h3>{piece.safe(title)}</h3>" if title else ""
    return f"<figure>{heading}{chart}<figcaption>{piece.safe(caption)}</figcaption></figure>"


def _costs(study: Study, made: _Contents) -> str:
    figure = data.time_figure(study)
    if figure is None:
        return piece.empty("No finished run on a synthetic function maximises an acquisition function.")
    return _figure("", made.chart("time", figure, "Seconds of a maximisation", height=460), TIME_CAPTION)


def _missing(study: Study, made: _Contents) -> str:
    rows = not_there(study)
    if not len(rows):
        return piece.empty("Nothing: every combination of what occurs in the table has finished.")
    return made.table("missing", "Missing runs", missing_table(rows), page=25)


def _words(study: Study, title: str) -> dict[str, str]:
    table = study.table
    cells = counted(len(table), "cell")
    failed = len(study.failed)
    seconds = float(table["seconds"].sum())
    acquisitions, classes = len(set(table["acquisition"]) - {""}), table["group"].nunique()
    tiles = [
        ("Cells", f"{len(table)}", f"{failed} failed", " first"),
        ("Tasks", f"{table['task'].nunique()}", counted(acquisitions, "acquisition function"), ""),
        ("Methods", f"{table['optimiser'].nunique()}", f"{classes} {'class' if classes == 1 else 'classes'}", ""),
        ("Seeds", f"{table['seed'].nunique()}", seeds_of(table), ""),
        (
            "Time of the cells",
            f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min",
            "one after the other",
            "",
        ),
    ]
    return {
        "title": piece.safe(title),
        "lead": piece.safe(LEAD),
        "tiles": "".join(piece.tile(*one) for one in tiles),
        "notes": "".join(f'<p class="note">{piece.safe(note[:600])}</p>' for note in _notes(study)),
        "commands": piece.safe(COMMANDS),
        "grid": piece.safe(grid_text(table)),
        "versions": piece.rows(versions(table)),
        "machines": piece.rows(machines(table)),
        "version": piece.safe(VERSION),
        "count": cells,
    }


def _notes(study: Study) -> list[str]:
    """What the reader should not miss."""
    notes = []
    if len(study.failed):
        first = study.failed.iloc[0]
        name = f"{first['task']}/{first['optimiser']}"
        notes.append(f"{counted(len(study.failed), 'cell')} failed; the first, {name}: {first['error']}")
    done = finished(study.table)
    unknown = int((done["family"] == OWN).sum()) - len(study.synthetic(OWN))
    if unknown > 0:
        notes.append(f"{counted(unknown, 'run')} on own tasks have no regret: their optimum is not known.")
    return notes
