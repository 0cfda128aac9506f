"""The results: the folder that keeps a row per cell, the table of all rows, and scores."""

from compbo.study.results.store import Store
from compbo.study.results.table import load, points

__all__ = ["Store", "load", "points"]
