"""The catalogue of maximizers of an acquisition function."""
