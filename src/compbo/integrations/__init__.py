"""Plugs for BoTorch, Optuna, Ax and Bayesmark."""
