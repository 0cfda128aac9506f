"""Grids: which cells a study is made of."""
