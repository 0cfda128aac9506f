"""Maximizers of an acquisition function: the catalogue, and what new ones are made of."""

from compbo.maximizers.ascend import Ascent
from compbo.maximizers.catalogue import BUILT_IN, CATALOGUE, get_entry, is_registered, make_maximizer, register
from compbo.maximizers.catalogue.table import catalogue_markdown, catalogue_rows
from compbo.maximizers.climb import Climb, Maximisation, Traits, run_within
from compbo.maximizers.entry import Entry, Maximizer
from compbo.maximizers.function import function_entry
from compbo.maximizers.hyperparameters import Hyperparameter

__all__ = [
    "BUILT_IN",
    "CATALOGUE",
    "Ascent",
    "Climb",
    "Entry",
    "Hyperparameter",
    "Maximisation",
    "Maximizer",
    "Traits",
    "catalogue_markdown",
    "catalogue_rows",
    "function_entry",
    "get_entry",
    "is_registered",
    "make_maximizer",
    "register",
    "run_within",
]
