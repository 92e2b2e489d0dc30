"""One task group per job file in one DAG; a broken file becomes a task that fails with the reason.

In: job files, and what makes the tasks of one of them. Out: groups in the DAG that is open; no group waits for another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from airflow_anon.jobs.broken_dag import readable_name
from airflow_anon.operators import BrokenJobOperator
from airflow_anon.run.task_ids import IS_BROKEN
from engine import EngineError, InvalidJob, Job, load_job


def add_groups(
    files: Iterable[Path], add: Callable[[Job, Callable[[], str]], object], *, recorded: bool = False
) -> None:
    """Add the groups of job files to the DAG that is open.

    Parameters
    ----------
    files : iterable of Path
    add : callable
        Adds the group of a job, or nothing. Its second argument returns the id of the group, and remembers it.
    recorded : bool
        Whether each group is an attempt that the ledger records.
    """
    taken: set[str] = set()
    reasons = [(path, _added(path, add, taken)) for path in files]
    for path, reason in reasons:
        if reason is not None:
            _add_broken(path, reason, taken, recorded=recorded)


def _added(path: Path, add: Callable[[Job, Callable[[], str]], object], taken: set[str]) -> str | None:
    """Add the group of one job file; return why it could not be."""
    try:
        job = load_job(path)
        add(job, lambda: _new_group(job.name, taken))
    except Exception as problem:  # noqa: BLE001 (an error in one file must not stop the others)
        return str(problem) if isinstance(problem, EngineError) else f"{type(problem).__name__}: {problem}"
    return None


def _add_broken(path: Path, reason: str, taken: set[str], *, recorded: bool) -> None:
    """Add a task that fails with the reason; it ends the attempt of the group that a run had before."""
    name = readable_name(path)
    group_id = _identifier(name)
    BrokenJobOperator(
        task_id=f"{_identifier(path.name)}_{IS_BROKEN}",
        reason=f"job file {path.name}: {reason}",
        job_name=name if recorded and group_id not in taken else None,
        group=f"{group_id}.",
    )


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
