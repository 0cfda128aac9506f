"""The page: data -> figures and fragments -> one HTML file that opens without other files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from compbo.inputs import check_target
from compbo.records import COMPLETE, FAIL, PRUNED
from compbo.report import figures, figures_asks, figures_check, figures_model, figures_progress
from compbo.report import fragments as piece
from compbo.report.data import Report, collect, of_state
from compbo.report.document import filled, resource, script_slots, write_document
from compbo.report.far_values import value_range
from compbo.report.tables import asks_table, evaluations_table
from compbo.report.theme import PALETTES, TEMPLATE
from compbo.versions import VERSION
from compbo.words import counted

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from compbo.bo.optimizer import Optimizer
    from compbo.records import StudyFacts

OF_COMPBO = (
    "A suggestion depends on the settings, the seed and what was evaluated, and on nothing else: with these versions "
    "and the same answers of the objective, this call proposes the same points. Where the evaluations ran (workers, "
    "storage, asynchronous mode) is not part of it."
)
OF_OPTUNA = (
    "This study was run through Optuna; its sampler and settings are not known here. The call optimises the parameters "
    "that all completed trials share with compbo, and the settings are those of the model on this page."
)


def write_report(
    optimizer: Optimizer, path: str | os.PathLike[str], *, title: str | None = None, facts: StudyFacts | None = None
) -> Path:
    """Write the report of a finished or running job as one HTML file; a file already there is replaced at once.

    path: of the file; it is returned. title: of the page. facts: of a study that another program ran.

    The file holds everything it shows and opens without a network.
    """
    check_target(path)
    return write_document(path, render_report(optimizer, title=title, facts=facts))


def render_report(optimizer: Optimizer, *, title: str | None = None, facts: StudyFacts | None = None) -> str:
    """The report of a finished or running job as the text of one HTML page with this title.

    facts: of a study that another program ran.
    """
    report = collect(optimizer, title, facts)
    board = _Board()
    slots = _evaluation_slots(report, board) | _model_slots(report, board) | _ask_slots(report, board)
    script = resource("compbo.report", "shared.js") + resource("compbo.report", "report.js")
    data = {
        "charts": board.charts,
        "pairs": _pairs(report),
        "tables": {"evaluations": evaluations_table(report), "asks": asks_table(report["asks"])},
        "palettes": PALETTES,
        "template": TEMPLATE,
    }
    slots |= _words(report) | script_slots(script, data) | {"style": resource("compbo.report", "style.css")}
    return filled(resource("compbo.report", "template.html"), slots)


class _Board:
    """Collects the figures while it hands out the places for them."""

    def __init__(self) -> None:
        self.charts: dict[str, figures.Figure] = {}

    def place(self, name: str, figure: figures.Figure, alt: str, *, height: int, least: int = 0) -> str:
        """The HTML of the place; `alt` says what the chart shows."""
        self.charts[name] = figure
        return piece.chart(name, alt, height=height, least=least)


def _evaluation_slots(report: Report, board: _Board) -> dict[str, str]:
    """The charts of the evaluations, or the reason why one is not there."""
    if not report["evaluations"]:
        nothing = piece.empty("Nothing has been evaluated yet.")
        return {"chart_progress": nothing, "chart_parallel": nothing}
    curve = figures_progress.progress(report)
    slots = {
        "chart_progress": board.place("progress", curve, "Values of all evaluations", height=380),
        "chart_parallel": piece.empty("No evaluation has succeeded yet."),
    }
    if report["best"] is not None:
        least = 80 * (1 + len(report["positions"]))
        figure = figures.parallel(report)
        slots["chart_parallel"] = board.place("parallel", figure, "Parallel coordinates", height=380, least=least)
    return slots


def _model_slots(report: Report, board: _Board) -> dict[str, str]:
    model, none = report["surrogate"], piece.empty(report["no_surrogate"])
    importance = {"chart_importance": none}
    if report["importance"]:
        height = 80 + 26 * min(len(report["importance"]), figures_model.BARS)
        bars = figures_model.importance(report)
        place = board.place("importance", bars, "Importance of the parameters", height=height)
        importance = {"chart_importance": place}
    if model is None:
        return {**importance, "chart_slices": none, "chart_pairs": none, "chart_check": none}
    slices = [
        board.place(f"slice_{i}", figures_model.slice_figure(report, model, part), f"Slice {i + 1}", height=230)
        for i, part in enumerate(model["slices"])
    ]
    pairs = piece.empty("This takes two parameters that vary.")
    if model["pairs"]:
        pairs = piece.titled("Mean", piece.chart("pair_mean", "Mean over two parameters", height=340))
        error = piece.chart("pair_error", "Two standard deviations over two parameters", height=340)
        pairs += piece.titled("Two standard deviations", error)
    check = figures_check.check_figure(model)
    return {
        **importance,
        "chart_slices": "".join(slices),
        "chart_pairs": pairs,
        "chart_check": board.place("check", check, "Every value and what the others predict of it", height=360),
    }


def _ask_slots(report: Report, board: _Board) -> dict[str, str]:
    asks = report["asks"]
    if not asks:
        none = piece.empty("No ask has been recorded.")
        return {f"chart_{name}": none for name in ("verdicts", "restarts", "gains", "seconds")}
    slots = {
        "chart_verdicts": board.place("verdicts", figures_asks.verdicts(asks), "Verdict of every ask", height=230),
        "chart_seconds": board.place("seconds", figures_asks.seconds(asks), "Seconds of every ask", height=260),
    }
    if not any(figures_asks.value_range(ask.end_values) for ask in asks):
        none = piece.empty("The model has not proposed anything yet.")
        return {**slots, "chart_restarts": none, "chart_gains": none}
    values, gains = figures_asks.restarts(asks), figures_asks.gains(asks)
    slots["chart_restarts"] = board.place("restarts", values, "Acquisition values of the restarts", height=300)
    slots["chart_gains"] = board.place("gains", gains, "Gain over the best start batch", height=300)
    return slots


def _pairs(report: Report) -> list[dict[str, Any]]:
    model = report["surrogate"]
    return [] if model is None else [figures_model.pair_figures(report, model, pair) for pair in model["pairs"]]


def _words(report: Report) -> dict[str, str]:
    """Everything in the page that is text."""
    model, axes = report["surrogate"], len(report["axes"])
    shown = len(report["positions"])
    done = len(of_state(report, COMPLETE))
    parallel_note = f"Only the most important parameters are shown: {shown} of {axes}. " if shown < axes else ""
    parallel_note += (
        f"{figures.LINES} of {done} evaluations are drawn, evenly by rank. " if done > figures.LINES else ""
    )
    rest = [share["share"] for share in report["importance"][figures_model.BARS :]]
    importance_note = f"{_others(len(rest))} {100.0 * sum(rest):.1f} %." if rest else ""
    slices = len(model["slices"]) if model is not None else 0
    slices_note = f"Only the most important parameters are shown: {slices} of {axes}." if 0 < slices < axes else ""
    labels = [f"{pair['x']['name']} × {pair['y']['name']}" for pair in model["pairs"]] if model is not None else []
    return {
        "title": piece.safe(report["title"]),
        "lead": piece.safe(_lead(report)),
        "tiles": piece.tiles(report),
        "best": piece.best_block(report),
        "notes": piece.notes(report),
        "log_control": piece.log_control() if figures_progress.log_scale_helps(report) else "",
        "all_control": piece.all_control() if value_range(report) is not None else "",
        "share_control": piece.share_control() if done > 1 else "",
        "parallel_note": piece.safe(parallel_note),
        "progress_note": piece.safe(figures_progress.progress_note(report)),
        "importance_about": piece.safe(_importance_about(report)),
        "importance_note": piece.safe(importance_note),
        "reproduce_lead": piece.safe(OF_OPTUNA if report["optuna"] else OF_COMPBO),
        "model_lead": piece.safe(_model_lead(report)),
        "slices_note": piece.safe(slices_note),
        "check_note": piece.safe(figures_check.check_words(model)) if model is not None else "",
        "pair_control": piece.pair_control(labels) if labels else "",
        "verdicts": piece.verdict_list(),
        "call": piece.safe(report["call"]),
        "settings": piece.rows(report["settings"]),
        "versions": piece.rows(report["versions"].items()),
        "space": piece.rows(report["space"]),
        "space_open": "open" if len(report["space"]) <= 12 else "",
        "space_count": piece.safe(counted(len(report["space"]), "parameter")),
        "version": piece.safe(VERSION),
        "written": datetime.now(UTC).strftime("%Y-%m-%d at %H:%M UTC"),
    }


def _lead(report: Report) -> str:
    what = "Maximisation" if report["direction"] == "maximize" else "Minimisation"
    settings = dict(report["settings"])
    maximizer, count = settings["maximizer"].strip("'"), len(report["axes"]) + report["conditional"]
    if report["optuna"]:
        return f"{what} over {counted(count, 'parameter')} in an Optuna study."
    return f"{what} over {counted(count, 'parameter')} with {maximizer} and {settings['acquisition']}."


def _others(number: int) -> str:
    return "The other parameter has" if number == 1 else f"The other {number} parameters share"


def _model_lead(report: Report) -> str:
    model = report["surrogate"]
    if model is None:
        return "What the model believes the objective looks like."
    known = report["modelled"]
    words = f"A Gaussian process ({model['kernel']} kernel) fitted to {counted(model['observations'], 'evaluation')}"
    words += (
        f", chosen from {known}: the best ones and an even share of the others" if model["observations"] < known else ""
    )
    words += "" if model["outputs"] == "none" else f", after the transform {model['outputs']}"
    words += "" if model["inputs"] == "none" else f", its inputs {model['inputs']}"
    words += f"; noise {model['noise']:.3g} (standard deviation)."
    if of_state(report, FAIL):
        words += " Failed evaluations stand at the worst value seen, so that the model avoids them."
    if of_state(report, PRUNED):
        words += " Pruned trials are not in it."
    if report["conditional"]:
        names = [name for name, _, _ in report["space"][-report["conditional"] :]]
        named = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        words += f" Parameters that not every trial shares are not in it: {named}."
    return words


def _importance_about(report: Report) -> str:
    if not report["evaluator"]:
        return (
            "A short lengthscale means that the objective changes quickly along a parameter. Shares are of "
            "1 / lengthscale in the unit cube, summed over the choices of a categorical parameter; with few "
            "evaluations they mostly show the prior."
        )
    return (
        f"As Optuna computes it ({report['evaluator']}): by how much the best tenth of the completed trials differs "
        "from all of them along a parameter."
    )
