"""The progress of a running search, as a task's log tells it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

SECONDS_BETWEEN = 15.0


class LoggedProgress:
    """Logs the figures of a running search, not more often than anyone reads them.

    Parameters
    ----------
    log : logging.Logger
        The task's.
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        self._due = time.monotonic() + SECONDS_BETWEEN

    def __call__(self, figures: Mapping[str, Any]) -> None:
        """Log the figures, if it is time."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS_BETWEEN
            self._log.info("Searching: %s", ", ".join(f"{name} {value}" for name, value in figures.items()))
