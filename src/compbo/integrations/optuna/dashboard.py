"""How well the acquisition function was maximised, trial by trial, where Optuna's users look: in the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import Verdict
from compbo.extras import load_optional
from compbo.report.figures_asks import READINGS
from compbo.report.theme import LIGHT
from compbo.storage.signature import unpack
from compbo.storage.trials import ASK

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from optuna.study import Study

PLOT_ID = "compbo-verdicts"
TITLE = "Was the acquisition function maximised?"


def telemetry(study: Study) -> dict[int, Telemetry]:
    """What the maximisations looked like, by the number of the trial that they were made for."""
    asks = {trial.number: unpack(ASK, trial.system_attrs) for trial in study.get_trials(deepcopy=False)}
    return {number: Telemetry.from_dict(ask["telemetry"]) for number, ask in asks.items() if ask is not None}


def verdict_figure(study: Study) -> go.Figure:
    """One mark per maximisation of the acquisition function, in the row of its verdict; the reason on hovering."""
    import plotly.graph_objects as go

    found = telemetry(study)
    figure = go.Figure(layout={"title": {"text": TITLE}, "showlegend": False, "template": "plotly_white"})
    for verdict in Verdict:
        reading = READINGS[verdict]
        numbers = [number for number, entry in found.items() if entry.verdict == verdict]
        figure.add_scatter(
            x=numbers,
            y=[str(verdict)] * len(numbers),
            text=[f"{found[n].reason}<br>{found[n].maximizer or 'no maximizer'}" for n in numbers],
            name=str(verdict),
            mode="markers",
            marker={"color": LIGHT[reading.colour], "symbol": reading.symbol, "size": 9},
            hovertemplate="trial %{x}: %{y}<br>%{text}<extra></extra>",
        )
    figure.update_xaxes(title_text="Trial")
    figure.update_yaxes(categoryorder="array", categoryarray=[str(v) for v in reversed(Verdict)])
    return figure


def save_verdict_plot(study: Study) -> str:
    """The id of the plot of the verdicts, put on the study's page in optuna-dashboard in place of an older one."""
    dashboard = load_optional("optuna_dashboard", "dashboard")
    plot: str = dashboard.save_plotly_graph_object(study, verdict_figure(study), graph_object_id=PLOT_ID)
    return plot
