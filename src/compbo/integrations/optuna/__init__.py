"""compbo as a sampler of Optuna.

study = optuna.create_study(sampler=CompBOSampler(seed=0))
study.optimize(objective, n_trials=64)
"""

from compbo.integrations.optuna.dashboard import save_verdict_plot, telemetry, verdict_figure
from compbo.integrations.optuna.sampler import CompBOSampler

__all__ = ["CompBOSampler", "save_verdict_plot", "telemetry", "verdict_figure"]
