"""One task group per job file in one DAG; a broken file becomes a task that fails with the reason.

In: job files, and what makes the tasks of one of them. Out: groups in the DAG that is open; no group waits for another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from airflow_anon.operators import BrokenJobOperator
from airflow_anon.run.task_ids import IS_BROKEN
from engine import EngineError, InvalidJob, Job, load_job


def add_groups(files: Iterable[Path], add: Callable[[Job, Callable[[], str]], object]) -> None:
    """Add the groups of job files to the DAG that is open.

    Parameters
    ----------
    files : iterable of Path
    add : callable
        Adds the group of a job, or nothing. Its second argument returns the id of the group, and remembers it.
    """
    taken: set[str] = set()
    for path in files:
        _add(path, add, taken)


def _add(path: Path, add: Callable[[Job, Callable[[], str]], object], taken: set[str]) -> None:
    """Add the group of one job file, or a task that fails with the error."""
    try:
        job = load_job(path)
        add(job, lambda: _new_group(job.name, taken))
    except Exception as problem:  # noqa: BLE001 (an error in one file must not stop the others)
        text = str(problem) if isinstance(problem, EngineError) else f"{type(problem).__name__}: {problem}"
        BrokenJobOperator(task_id=f"{_identifier(path.name)}_{IS_BROKEN}", reason=f"job file {path.name}: {text}")


def _new_group(name: str, taken: set[str]) -> str:
    """Return the id of a job's group, which must be new, and remember it."""
    group_id = _identifier(name)
    if group_id in taken:
        raise InvalidJob(f"name: {name!r} is, in letters and digits, the name of an earlier job file; rename one job")
    taken.add(group_id)
    return group_id


def _identifier(text: str) -> str:
    """Return the text with characters that no task group id may hold replaced."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)
