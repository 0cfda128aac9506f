"""Bayesmark's tuning tasks: its models, data sets and metrics, and what random search reaches on them."""
