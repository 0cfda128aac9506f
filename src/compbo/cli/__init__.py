"""The command line."""

from compbo.cli import trials  # noqa: F401 - its commands
from compbo.cli.app import app, main

__all__ = ["app", "main"]
