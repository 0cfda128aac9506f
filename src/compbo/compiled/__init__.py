"""Posterior, integrand and backward pass in code that Numba compiles; `choice.py` says when it is used.

Only `choice.py` is imported without it: the other modules need Numba, the extra `fast`.
"""
