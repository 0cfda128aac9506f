"""Bayesian optimisation with compositional maximisation of the acquisition function."""

__version__ = "0.1.0"
