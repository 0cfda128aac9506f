"""compbo's sampler as an OptunaHub package."""

from compbo.integrations.optuna import CompBOSampler, save_verdict_plot, telemetry, verdict_figure

__all__ = ["CompBOSampler", "save_verdict_plot", "telemetry", "verdict_figure"]
