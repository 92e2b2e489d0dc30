"""Staged patient data of runs that no DAG of today ends: their job was renamed or removed, or its DAG deleted.

In: the staging base, and what Airflow says of the run that is noted beside each folder. Out: folders that no run needs
are removed, after a while in which nobody has touched them. Only those with a note of this Airflow are: another one on
the same volume has another mark, and what has no note is of an earlier version, or of somebody else.
"""

from __future__ import annotations

import uuid
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Variable

from airflow_anon.run import staging
from airflow_anon.run.facts import has_ended, told_or_none

if TYPE_CHECKING:
    from airflow.sdk import Context

MARK = "airflow_anon_staging"
"""Airflow variable whose value tells this Airflow from others."""
DAY = 24 * 60 * 60
ENDED_SECONDS = DAY
"""How long nothing was changed in the folder of a run that has ended or was deleted."""
STUCK_SECONDS = 40 * DAY
"""The same of a run that Airflow calls unfinished, of which no task is under way; an approval waits up to 30 days."""
AHEAD_SECONDS = 60 * 60
"""How far the time of a file may be ahead: the clocks of a file server and of a worker differ."""
OVER = {None, "success", "failed", "skipped", "upstream_failed", "removed"}
"""States of tasks that are not under way."""


def mark_of_airflow(log: Logger) -> str | None:
    """Return the mark of this Airflow, which its first run makes; None if Airflow does not tell it."""
    try:
        mark = Variable.get(MARK, default=None)
        if not mark:
            about = "Tells this Airflow's staging folders from those of others on the same volume; do not copy it"
            Variable.set(MARK, uuid.uuid4().hex, description=about)
            # what another first run has written at the same time counts for both
            mark = Variable.get(MARK, default=None)
    except Exception as problem:  # noqa: BLE001 (backends of secrets raise what they like, and the run can do without)
        log.warning("Airflow variable %s could not be read or made (%s)", MARK, type(problem).__name__)
        return None
    return str(mark) if mark else None


def remove_abandoned(own: Path, base: Path, mark: str, context: Context, log: Logger) -> None:
    """Remove the folders of this Airflow's runs that are not needed any more; `own` is the folder of this run.

    Raises
    ------
    AirflowRuntimeError
        Airflow did not answer.
    """
    for folder, note in staging.noted(base):
        if folder.parent == own:
            continue
        try:
            quiet = staging.quiet_seconds(folder)
        except OSError:
            continue  # its own run, or another one, removes it now
        if note.airflow != mark:
            _tell_of_another(folder, quiet, log)
            continue
        if quiet < -AHEAD_SECONDS:
            _tell_of_the_future(folder, note, quiet, log)
        elif quiet > ENDED_SECONDS and _is_over(note, quiet, context, log):
            _remove(folder, note, base, log)


def _tell_of_another(folder: Path, quiet: float, log: Logger) -> None:
    """Tell of a folder that only the other Airflow removes; one whose database was lost does not come back for it."""
    of_another = f"is of another Airflow, or variable {MARK} was changed or lost with Airflow's database"
    if quiet <= ENDED_SECONDS:
        log.info("Staging folder %s: %s; left alone", folder, of_another)
        return
    log.warning(
        "Staging folder %s: %s. It has patient data, and nothing in it was touched for %d days: if that Airflow is no "
        "more, remove the folder",
        folder,
        of_another,
        int(quiet // DAY),
    )


def _tell_of_the_future(folder: Path, note: staging.Note, quiet: float, log: Logger) -> None:
    """Tell of a folder of which nobody can tell for how long nothing was changed in it."""
    log.warning(
        "Staging folder %s: has files of a time %d hours ahead of this clock, as of one that was wrong, so it is not "
        "known for how long nothing was changed. It has patient data, and is removed a day after that time: if run %s "
        "of DAG %s has ended, remove the folder",
        folder,
        int(-quiet // AHEAD_SECONDS),
        note.run_id,
        note.dag_id,
    )


def _is_over(note: staging.Note, quiet: float, context: Context, log: Logger) -> bool:
    if has_ended(note.dag_id, note.run_id, context):
        return True
    days = int(quiet // DAY)
    if quiet > STUCK_SECONDS and not _is_under_way(note, context):
        return True
    log.warning(
        "Staging: run %s of DAG %s has not ended, and nothing it staged was touched for %d days; if its job was "
        "renamed or removed, mark the run as failed: the next run of any job then removes its patient data",
        note.run_id,
        note.dag_id,
        days,
    )
    return False


def _is_under_way(note: staging.Note, context: Context) -> bool:
    """Whether a task of a run waits or works, or its DAG is only paused; also where Airflow cannot tell."""
    instance: Any = context["ti"]
    states = instance.get_task_states(dag_id=note.dag_id, run_ids=[note.run_id]).get(note.run_id, {})
    if not {None if state is None else str(getattr(state, "value", state)) for state in states.values()} <= OVER:
        return True
    ask = getattr(instance, "get_dag", None)  # older versions of Airflow do not tell
    if ask is None:
        return True
    dag = told_or_none(lambda: ask(dag_id=note.dag_id))
    return dag is not None and bool(dag.is_paused)


def _remove(folder: Path, note: staging.Note, base: Path, log: Logger) -> None:
    what = (
        f"Staging folder {folder}: patient data of run {note.run_id} of DAG {note.dag_id}, which no task needs any more"
    )
    try:
        staging.remove(folder, base)
    except FileNotFoundError:
        log.info("%s, is being removed by another run", what)
    except (staging.UnsafeStagingError, OSError) as problem:
        log.warning("%s, was not removed: %s", what, problem)
    else:
        log.warning("%s, was left there; now removed", what)
