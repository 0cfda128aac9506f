"""The catalogue of maximizers of an acquisition function."""

from compbo.maximizers.ascend import ascend
from compbo.maximizers.catalogue import CATALOGUE, get_entry, make_maximizer
from compbo.maximizers.entry import Entry, Maximizer
from compbo.maximizers.solvers import Ascent
from compbo.maximizers.table import catalogue_markdown, catalogue_rows

__all__ = [
    "CATALOGUE",
    "Ascent",
    "Entry",
    "Maximizer",
    "ascend",
    "catalogue_markdown",
    "catalogue_rows",
    "get_entry",
    "make_maximizer",
]
