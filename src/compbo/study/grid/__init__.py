"""Grids: which cells a study is made of."""

from compbo.study.grid.filters import Filter
from compbo.study.grid.grid import Block, Grid
from compbo.study.grid.gridfile import load_grid, parse_grid, preset_names

__all__ = ["Block", "Filter", "Grid", "load_grid", "parse_grid", "preset_names"]
