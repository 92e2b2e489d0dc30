"""The progress of a running search in a task's log.

In: the figures of a search. Out: lines about how long it takes, and whether it has found something. No figure is told:
those of a running search are of all records, and how many of them are left out, few or not, is known at its end alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

SECONDS_BETWEEN = 15.0


class LoggedProgress:
    """Logs at intervals that a search is running.

    Parameters
    ----------
    log : logging.Logger
        The log of the task.
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        self._begun = time.monotonic()
        self._due = self._begun + SECONDS_BETWEEN

    def __call__(self, figures: Mapping[str, Any]) -> None:
        """Log how the search stands, if the interval has passed."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + SECONDS_BETWEEN
            found = "; a transformation that does is found" if figures.get("solutions") else ""
            self._log.info("Searching for %.0f seconds%s", now - self._begun, found)
