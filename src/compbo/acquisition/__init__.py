"""Acquisition functions as integrands, their samples and their oracle."""
