"""The weekly DAG that searches the risk-utility frontier of each job with a `frontier` section.

In: a folder of job files. Out: one DAG with one task group per such job. A broken job file becomes a task that fails
with the reason and does not affect the others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pendulum
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, TaskGroup

from airflow_anon.jobs.extracts import extract_tasks
from airflow_anon.jobs.folder import job_files, jobs_folder
from airflow_anon.jobs.group_per_job import add_groups
from airflow_anon.jobs.heavy_tasks import heavy_arguments
from airflow_anon.jobs.nightly import overridden, refuse_run_timeout
from airflow_anon.operators import (
    OutcomeOperator,
    PrepareStagingOperator,
    RemoveStagingOperator,
    RiskUtilityFrontierOperator,
)
from airflow_anon.operators.outcome import always_at_the_end
from airflow_anon.run.output import SHARE_ENVIRONMENT, output_of_this_installation, share_of_this_installation
from airflow_anon.run.task_ids import FRONTIER
from engine import InvalidJob, Job, load_job

DAG_ID = "risk_utility_frontier"
NOTHING = "no_job_has_a_frontier_section"


def frontier_asset(job: str | Path | Mapping[str, Any] | Job) -> Asset:
    """Return the Asset that each new frontier of a job updates; its events carry the figures.

    Raises
    ------
    InvalidJob
        The job is invalid.
    """
    name = load_job(job).name
    return Asset(
        name=f"release-{name}/frontier",
        uri=f"x-airflow-anon://release/{name}/frontier",
        group="de-identification",
    )


def frontier_task_group(
    job: str | Path | Mapping[str, Any] | Job, *, group_id: str = "frontier", staging_base: str | None = None
) -> TaskGroup:
    """Make the tasks that search one job's frontier, wired; call it inside a DAG.

    Parameters
    ----------
    job : path, mapping or Job
        Has a `frontier` section; its source is a connection's table or query.
    group_id : str
        Id of the group, and the prefix of its tasks' ids.
    staging_base : str, optional
        Folder for the staging of all runs; see `airflow_anon.run.staging.base_folder`.

    Raises
    ------
    InvalidJob
        The job has no such section, reads a file, or has no folder for the frontier.
    """
    job = load_job(job)
    folder = _folder(job)
    with TaskGroup(group_id, tooltip=f"Risk-utility frontier of {job.name}") as group:
        prepare = PrepareStagingOperator(
            task_id="prepare_staging", job_name=job.name, staging_base=staging_base
        ).as_setup()
        remove = RemoveStagingOperator(task_id="remove_staging", job_name=job.name, staging_base=staging_base)
        extracts = extract_tasks(job, prepare)
        frontier = RiskUtilityFrontierOperator(
            task_id=FRONTIER,
            job=job,
            folder=folder,
            outlets=[frontier_asset(job)],
            **extracts.what_was_read,
            **extracts.paths,
            **heavy_arguments(job),
        )
        # As in the nightly run: the run must fail if staging could not be removed, or if the work failed.
        frontier >> remove.as_teardown(setups=prepare, on_failure_fail_dagrun=True)
        extracts.all_before(remove)
        work = [prepare, *extracts.tasks, frontier]
        delivered = OutcomeOperator(task_id="delivered", tasks=[task.task_id for task in work])
        frontier >> always_at_the_end(delivered, prepare, fails_run=True)
    return group


def _folder(job: Job) -> str:
    """Return the share folder of a job, which must be able to run."""
    if job.frontier is None:
        raise InvalidJob("frontier: the section is missing; add it, at least frontier: {}")
    if job.source is None or job.source.conn_id is None:
        raise InvalidJob("source: a DAG extracts from a connection; name a conn_id with a table or a query")
    placed = output_of_this_installation(job) if job.output is not None else None
    path = (placed or {}).get("path") or (job.output and job.output.path) or share_of_this_installation()
    if not path:
        raise InvalidJob(f"output: the frontier needs a folder; name a path, or set {SHARE_ENVIRONMENT}")
    return str(path)


def frontier_dag(folder: str | Path, **overrides: Any) -> DAG:
    """Make the DAG of all jobs of a folder, or of the folder that `AIRFLOW_ANON_JOBS` names.

    Parameters
    ----------
    folder : path
        Folder of job files. If no file has a `frontier` section, the name of the only task says so.
    **overrides
        Arguments of `DAG` that override its own: `schedule`, `on_failure_callback`, ...; `default_args` one by one.

    Raises
    ------
    InvalidJob
        The folder does not exist or cannot be read.
    ValueError
        `dagrun_timeout` is set.
    """
    refuse_run_timeout(overrides)
    arguments: dict[str, Any] = {
        "schedule": "@weekly",
        "start_date": pendulum.datetime(2026, 1, 1, tz="UTC"),
        "catchup": False,
        "max_active_runs": 1,
        "tags": ["de-identification", "frontier"],
        "description": "Policies of least risk and most utility, for each job with a frontier section",
        "default_args": {"retries": 1, "retry_delay": dt.timedelta(minutes=5)},
    }
    files = job_files(jobs_folder(folder))
    with DAG(DAG_ID, **overridden(arguments, overrides)) as dag:  # noqa: AIR002 (a schedule is among them)
        add_groups(files, _add)
        if not dag.tasks:
            EmptyOperator(
                task_id=NOTHING,
                doc_md=f"None of the {len(files)} job files has a `frontier` section, so there is nothing to search.",
            )
    return dag


def _add(job: Job, group_id: Callable[[], str]) -> None:
    if job.frontier is not None:
        frontier_task_group(job, group_id=group_id())
