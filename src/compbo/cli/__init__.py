"""The command line."""

from compbo.cli.app import app, main

__all__ = ["app", "main"]
