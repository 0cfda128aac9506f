"""Runs: evaluate what is suggested, in parallel if wished, stored and resumable.

`compbo.minimize` and `compbo.maximize` begin here (`api.py`). Worker processes import this package, so this file
imports nothing.
"""
