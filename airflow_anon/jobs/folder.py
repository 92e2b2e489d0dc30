"""Makes DAGs of a folder of job files; a broken file does not affect the others.

An exception in a DAG file removes all its DAGs from the schedule, so two DAG files read the job files:

- `deidentification_dags` never raises for a job file. A broken one becomes a DAG that fails at every run with the
  reason, so that nobody believes that the job ran, and alerts on failed runs report it.
- `check_job_files` makes no DAG and raises with all reasons; Airflow shows them as the import error of its DAG file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import DAG

from airflow_anon.engine_name import hidden_engine_text, other_engines
from airflow_anon.jobs.broken_dag import broken_dag
from airflow_anon.jobs.nightly import deidentification_dag
from airflow_anon.jobs.taken_tables import TakenTables
from engine import EngineError, InvalidJob, Job, load_job

JOBS_ENVIRONMENT = "AIRFLOW_ANON_JOBS"


def jobs_folder(default: str | Path) -> Path:
    """Return the folder that the environment variable `AIRFLOW_ANON_JOBS` names, else `default`."""
    return Path(os.environ.get(JOBS_ENVIRONMENT) or default)


def job_files(folder: str | Path) -> list[Path]:
    """Return the job files of a folder, sorted: `*.yaml` and `*.yml`, without those named `_*`, which jobs extend.

    Raises
    ------
    InvalidJob
        The folder does not exist or cannot be read.
    """
    try:
        return sorted(path for path in Path(folder).iterdir() if _is_job_file(path))
    except OSError as problem:
        raise InvalidJob(
            f"folder of job files {Path(folder).absolute()}: cannot be read ({problem.strerror}); make it, or set "
            f"{JOBS_ENVIRONMENT}"
        ) from None


def _is_job_file(path: Path) -> bool:
    return path.suffix in {".yaml", ".yml"} and not path.name.startswith("_") and path.is_file()


def deidentification_dags(folder: str | Path, **overrides: Any) -> dict[str, DAG]:
    """Make one DAG per job file of a folder, or of the folder that `AIRFLOW_ANON_JOBS` names.

    Parameters
    ----------
    folder : path
    **overrides
        Arguments of each `DAG` that override the job file's; the DAG of a broken file gets only their callbacks.

    Returns
    -------
    dict of DAG id to DAG
        A file that is broken, or has the job name or the table of an earlier file, becomes a DAG that fails with the
        reason. The DAGs are not registered yet: bind them to names in the DAG file.
    """
    read = list(_read(folder, overrides))
    dags = {made.dag_id: made for _, made in read if isinstance(made, DAG)}
    for path, made in read:
        if isinstance(made, InvalidJob):
            dag = broken_dag(path, str(made), set(dags), overrides)
            dags[dag.dag_id] = dag
    return dags


def check_job_files(folder: str | Path) -> None:
    """Read each job file of a folder, or of the folder that `AIRFLOW_ANON_JOBS` names.

    Raises
    ------
    InvalidJob
        Some files are broken; each is named with the reason. Or a module beside them is hidden by our `engine`.
    """
    reasons = [hidden_engine_text(place) for place in other_engines()]
    reasons += [str(made) for _, made in _read(folder, {}) if isinstance(made, InvalidJob)]
    if reasons:
        raise InvalidJob("\n".join(reasons))


def _read(folder: str | Path, overrides: Mapping[str, Any]) -> Iterator[tuple[Path, DAG | InvalidJob]]:
    """Yield each job file with its DAG or its error."""
    names: dict[str, Path] = {}
    tables = TakenTables()
    for path in job_files(jobs_folder(folder)):
        yield path, _dag_or_problem(path, overrides, names, tables)


def _dag_or_problem(
    path: Path, overrides: Mapping[str, Any], names: dict[str, Path], tables: TakenTables
) -> DAG | InvalidJob:
    try:
        job = load_job(path)
        dag = _valid_dag(job, overrides)
        _take_name(path, job, names)
        tables.take(job, path.name)
    except Exception as problem:  # noqa: BLE001 (an error in one file must not stop the others)
        return _told(path, problem)
    return dag


def _take_name(path: Path, job: Job, names: dict[str, Path]) -> None:
    """Refuse the name of an earlier file, else remember it."""
    owner = names.setdefault(job.name, path)
    if owner != path:
        raise InvalidJob(f"name: {job.name!r} is the name of {owner.name} too; rename one job")


def _valid_dag(job: Job, overrides: Mapping[str, Any]) -> DAG:
    # Airflow must not collect a DAG that turns out broken or is only checked.
    dag = deidentification_dag(job, auto_register=False, **overrides)
    try:
        dag.validate()
    except AirflowException as problem:
        raise InvalidJob(f"dag.schedule: {problem}; use a cron expression, a preset such as @daily, or null") from None
    return dag


def _told(path: Path, problem: Exception) -> InvalidJob:
    where = f"job file {path}: "
    text = str(problem) if isinstance(problem, EngineError) else f"{type(problem).__name__}: {problem}"
    return InvalidJob(where + text.removeprefix(where))
