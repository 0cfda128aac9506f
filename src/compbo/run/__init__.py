"""Runs: evaluate what is suggested, in parallel if wished, stored and resumable."""

from compbo.run.api import maximize, minimize
from compbo.run.loop import Result, RunError, RunInterrupted, TooManyFailuresError

__all__ = ["Result", "RunError", "RunInterrupted", "TooManyFailuresError", "maximize", "minimize"]
