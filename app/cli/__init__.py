"""The command line, `kelolo`. One module for each group of commands."""

from app.cli.entry import main

__all__ = ["main"]
