"""Ids of tasks by which pages find what a run had to do: without the groups before them, ids end with these."""

from __future__ import annotations

RECORD_ATTEMPT = "record_attempt"
"""Writes the entry of an attempt."""
FRONTIER = "frontier"
"""Searches for the frontier of a job."""
IS_BROKEN = "is_broken"
"""Ends the id of the task that fails because a job file cannot be used."""


def name_in_group(task_id: str) -> str:
    """Return the id of a task without the groups that it is in."""
    return task_id.rpartition(".")[2]
