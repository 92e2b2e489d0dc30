"""The command line `airflow-anon`."""

from engine.cli.commands import main

__all__ = ["main"]
