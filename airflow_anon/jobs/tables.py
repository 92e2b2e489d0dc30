"""One DAG for the many tables of a warehouse: a task group per job file of a folder.

In: a folder of job files, which may share settings (`extends`, `hierarchies`). Out: a DAG that de-identifies each table
on its own: no group waits for another, and where one fails the others are released. The run is a failure then, and the
ledger has an entry for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pendulum
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_anon.jobs.folder import job_files
from airflow_anon.jobs.group_per_job import add_groups
from airflow_anon.jobs.nightly import deidentification_task_group, overridden, refuse_run_timeout, task_arguments
from airflow_anon.jobs.taken_tables import TakenTables
from airflow_anon.run.check_only import check_parameter
from engine import Job

NOTHING = "no_job_file"


def tables_dag(dag_id: str, folder: str | Path, **overrides: Any) -> DAG:
    """Make one DAG of all job files of a folder.

    Parameters
    ----------
    dag_id : str
    folder : path
        Of job files. The owner, retries, pool and queue of a job's `dag` section hold for its tasks; schedule, start
        and tags are those of this DAG.
    **overrides
        Arguments of `DAG`: `schedule` (default ``@daily``), `max_active_tasks` (how many tasks of the run work at once;
        default: as Airflow is set), `on_failure_callback`, ...; `default_args` one by one, such as `pool`.

    Raises
    ------
    InvalidJob
        The folder does not exist or cannot be read. A broken job file becomes a task that fails with the reason.
    ValueError
        `dagrun_timeout` is set.

    Examples
    --------
    >>> dag = tables_dag("clinic_tables", "/opt/airflow/dags/jobs/clinic", max_active_tasks=4)  # doctest: +SKIP
    """
    refuse_run_timeout(overrides)
    arguments: dict[str, Any] = {
        "schedule": "@daily",
        "start_date": pendulum.datetime(2026, 1, 1, tz="UTC"),
        "catchup": False,
        "max_active_runs": 1,
        "tags": ["de-identification"],
        "description": "De-identifies each table that has a job file in a folder",
        "default_args": {},
        "params": check_parameter(),
    }
    files = job_files(folder)
    with DAG(dag_id, **overridden(arguments, overrides)) as dag:  # noqa: AIR002 (a schedule is among them)
        own = overrides.get("default_args") or {}
        tables = TakenTables()

        def add(job: Job, group_id: Callable[[], str]) -> None:
            tables.refuse(job)
            deidentification_task_group(job, group_id=group_id(), default_args={**task_arguments(job), **own})
            tables.take(job, f"job {job.name}")

        add_groups(files, add, recorded=True)
        if not dag.tasks:
            EmptyOperator(task_id=NOTHING, doc_md="The folder has no job file, so there is nothing to de-identify.")
    return dag
