"""The progress of a running search in a task's log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

SECONDS_BETWEEN = 15.0


class LoggedProgress:
    """Logs the figures of a running search at intervals.

    Parameters
    ----------
    log : logging.Logger
        The log of the task.
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        self._due = time.monotonic() + SECONDS_BETWEEN

    def __call__(self, figures: Mapping[str, Any]) -> None:
        """Log the figures, if the interval has passed."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS_BETWEEN
            self._log.info("Searching: %s", ", ".join(f"{name} {_rounded(value)}" for name, value in figures.items()))


def _rounded(value: Any) -> Any:
    """Round a loss or a bound: with all digits it tells cells of the source."""
    return f"{value:.2g}" if isinstance(value, float) else value
