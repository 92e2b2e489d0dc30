"""Makes a task group or a DAG of a job.

In: a job. Out: the tasks of docs/flow.md, wired, or a DAG with the schedule, owner, tags and retries of the job file.
`airflow_anon.jobs.folder` reads folders of job files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pendulum
from airflow.sdk import DAG, Asset, BaseOperator, TaskGroup

from airflow_anon.jobs.extracts import extract_tasks
from airflow_anon.jobs.heavy_tasks import heavy_arguments
from airflow_anon.jobs.possible_output import check_output
from airflow_anon.operators import (
    DeidentifyInWarehouseOperator,
    DeidentifyTableOperator,
    OutcomeOperator,
    PrepareRunOperator,
    PublishReleaseOperator,
    RecordAttemptOperator,
    RemoveStagingOperator,
    ValidateReleaseOperator,
)
from airflow_anon.operators.outcome import always_at_the_end
from airflow_anon.run.check_only import check_parameter
from airflow_anon.run.job_sections import sections
from airflow_anon.run.output import output_of_this_installation
from airflow_anon.run.task_ids import RECORD_ATTEMPT
from engine import InvalidJob, Job, load_job, markdown_text

APPROVE_TASK = "approve"


def release_asset(job: str | Path | Mapping[str, Any] | Job) -> Asset:
    """Return the Asset that each release of a job updates; its events carry the metrics.

    A job file is read for the name of its job: with that of the file no DAG would ever start.

    Raises
    ------
    InvalidJob
        The job is invalid.
    """
    name = load_job(job).name
    return Asset(name=f"release-{name}", uri=f"x-airflow-anon://release/{name}", group="de-identification")


def deidentification_task_group(
    job: str | Path | Mapping[str, Any] | Job,
    *,
    group_id: str = "deidentification",
    staging_base: str | None = None,
    prefix_group_id: bool = True,
    default_args: Mapping[str, Any] | None = None,
) -> TaskGroup:
    """Make the tasks of one job, wired; call it inside a DAG.

    Parameters
    ----------
    job : path, mapping or Job
        Its source must be a connection's table or query.
    group_id : str
        Id of the group; also the prefix of its tasks' ids unless `prefix_group_id` is false.
    staging_base : str, optional
        Folder for the staging of all runs; see `airflow_anon.run.staging.base_folder`.
    default_args : mapping, optional
        Arguments of the tasks, such as `pool`; they override the DAG's `default_args`.

    Raises
    ------
    InvalidJob
        The job is invalid, reads a file, or has no output that can be written; or asks for an executor, or for pods,
        that Airflow does not have; or the DAG has a group of a job with the same name.

    Examples
    --------
    >>> with DAG("nightly", schedule="@daily"):
    ...     deidentification_task_group("/opt/airflow/dags/jobs/hospital_stays.yaml")  # doctest: +SKIP
    """
    job = load_job(job)
    _check_source(job)
    check_output(job, staging_base)
    with TaskGroup(
        group_id,
        prefix_group_id=prefix_group_id,
        tooltip=f"De-identification of {job.name}",
        default_args=dict(default_args or {}),
    ) as group:
        _refuse_second_group(job, group)
        prepare = PrepareRunOperator(task_id="prepare_staging", job=job, staging_base=staging_base).as_setup()
        remove = RemoveStagingOperator(task_id="remove_staging", job_name=job.name, staging_base=staging_base)
        work, read = _inside(job, prepare) if job.backend == "sql" else _work(job, prepare, remove)
        record = RecordAttemptOperator(
            task_id=RECORD_ATTEMPT,
            job=job,
            tasks=[task.task_id for task in work],
            approval_task=_asking(work),
            staging_base=staging_base,
            publish_to=output_of_this_installation(job),
            **read,
        )
        publish = work[-1]
        # Marking a run as failed also ends an attempt, and clearing one task begins another.
        publish >> always_at_the_end(record, prepare)
        # A folder with patient data that could not be removed must fail the run. A teardown that may fail the run
        # hides the state of the tasks before it, so a separate task reports their outcome.
        record >> remove.as_teardown(setups=prepare, on_failure_fail_dagrun=True)
        released = OutcomeOperator(task_id="released", tasks=[*record.tasks, record.task_id])
        [publish, record] >> always_at_the_end(released, prepare, fails_run=True)
    return group


def _refuse_second_group(job: Job, group: TaskGroup) -> None:
    """Refuse a second job of the same name in a DAG: both would make one release, and only the first is published."""
    tasks = [] if group.dag is None else group.dag.tasks
    names = {task.job_name: task.task_id for task in tasks if isinstance(task, PrepareRunOperator)}
    if job.name in names:
        raise InvalidJob(
            f"name: {job.name!r} is the name of the job of task {names[job.name]} in the same DAG, and a run makes one "
            "release of each job; give the two different names"
        )


def _check_source(job: Job) -> None:
    if not job.sources or any(source.conn_id is None for source in job.sources):
        where = "source" if job.tables is None else "tables.*.source"
        raise InvalidJob(f"{where}: a DAG extracts from a connection; name a conn_id with a table or a query")


def _work(
    job: Job, prepare: PrepareRunOperator, remove: RemoveStagingOperator
) -> tuple[list[BaseOperator], dict[str, Any]]:
    """Make the tasks between staging and its removal; return all tasks of the attempt in order, and what they read."""
    extracts = extract_tasks(job, prepare)
    deidentify = DeidentifyTableOperator(
        task_id="deidentify",
        job=job,
        staging=prepare.output,
        **extracts.what_was_read,
        **extracts.paths,
        **heavy_arguments(job),
    )
    proven = _proven(job, deidentify, extracts.what_was_read, extracts.paths)
    extracts.all_before(remove)
    return [prepare, *extracts.tasks, deidentify, *proven], extracts.what_was_read


def _inside(job: Job, prepare: PrepareRunOperator) -> tuple[list[BaseOperator], dict[str, Any]]:
    """Make the same tasks of a job whose records stay in their warehouse: nothing is extracted."""
    source = job.source
    assert source is not None  # noqa: S101 (checked by the caller)
    deidentify = DeidentifyInWarehouseOperator(
        task_id="deidentify",
        job=job,
        table=source.table,
        query=source.query,
        staging=prepare.output,
        **heavy_arguments(job),
    )
    read = {"extracted": deidentify.output}
    return [prepare, deidentify, *_proven(job, deidentify, read, {})], read


def _proven(
    job: Job, deidentify: BaseOperator, read: Mapping[str, Any], paths: Mapping[str, Any]
) -> list[BaseOperator]:
    """Make the tasks that validate a release, ask for its approval if the job demands one, and publish it."""
    validate = ValidateReleaseOperator(
        task_id="validate",
        job=job,
        release=deidentify.output["release"],
        manifest_sha256=deidentify.output["manifest_sha256"],
        multiple_outputs=True,
        **paths,
        **heavy_arguments(job),
    )
    approve = None if job.approval is None else _approve(job, deidentify, read)
    publish = PublishReleaseOperator(
        task_id="publish",
        job=job,
        release=deidentify.output["release"],
        manifest_sha256=deidentify.output["manifest_sha256"],
        validation_sha256=validate.output["validation_sha256"],
        metrics=deidentify.output["metrics"],
        publish_to=output_of_this_installation(job),
        approval=None if approve is None else approve.output,
        outlets=[release_asset(job)],
        **read,
    )
    if approve is None:
        return [validate, publish]
    validate >> approve
    return [validate, approve, publish]


def _approve(job: Job, deidentify: BaseOperator, read: Mapping[str, Any]) -> BaseOperator:
    from airflow_anon.operators.approve import ApproveReleaseOperator  # noqa: PLC0415 (most DAG files have none)

    return ApproveReleaseOperator(
        task_id=APPROVE_TASK,
        job=job,
        release=deidentify.output["release"],
        manifest_sha256=deidentify.output["manifest_sha256"],
        **read,
    )


def _asking(work: Sequence[BaseOperator]) -> str | None:
    """Return the id of the task that asks for approval, if there is one."""
    return next((task.task_id for task in work if task.label == APPROVE_TASK), None)


def deidentification_dag(job: str | Path | Mapping[str, Any] | Job, **overrides: Any) -> DAG:
    """Make the DAG of one job: the job's name is its id, the job's `dag` section its settings.

    Parameters
    ----------
    job : path, mapping or Job
        Without a `dag` section it runs daily, with the other defaults of the section.
    **overrides
        Arguments of `DAG` that override the section's: `schedule`, `on_failure_callback`, ... `default_args` are added
        to the section's owner and retries, which they may override one by one.

    Raises
    ------
    InvalidJob
        The job is invalid, reads a file, or has no output that can be written; or its `dag` section names an unknown
        time zone.
    ValueError
        `dagrun_timeout` is set.
    """
    job = load_job(job)
    refuse_run_timeout(overrides)
    with DAG(job.name, **overridden(_dag_arguments(job), overrides)) as dag:  # noqa: AIR002 (a schedule is among them)
        # One group, so its tasks need no prefix: `extract`, not `deidentification.extract`.
        deidentification_task_group(job, prefix_group_id=False)
    return dag


def overridden(own: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a DAG with overrides; `default_args` and `params` are overridden one by one."""
    by_one = ("default_args", "params")
    return {**own, **overrides, **{name: {**own.get(name, {}), **(overrides.get(name) or {})} for name in by_one}}


def refuse_run_timeout(arguments: Mapping[str, Any]) -> None:
    """Refuse `dagrun_timeout`, with which Airflow skips teardowns.

    Raises
    ------
    ValueError
        `dagrun_timeout` is set.
    """
    if arguments.get("dagrun_timeout") is not None:
        raise ValueError(
            "dagrun_timeout: must not be set: Airflow would skip teardowns, so patient data stays in staging and the "
            "attempt gets no entry in the ledger; set execution_timeout in default_args"
        )


def task_arguments(job: Job) -> dict[str, Any]:
    """Return the arguments of a job's tasks that its `dag` section sets."""
    settings = _settings(job)
    limits = {
        "pool": settings.pool,
        "queue": settings.queue,
        "max_active_tis_per_dag": settings.max_active_tis,
        "deferrable": settings.deferrable,
        "execution_timeout": _seconds(settings.execution_timeout_seconds),
    }
    return {
        "owner": settings.owner,
        "retries": settings.retries,
        "retry_delay": dt.timedelta(seconds=settings.retry_delay_seconds),
        **{name: value for name, value in limits.items() if value is not None},
    }


def _seconds(number: float | None) -> dt.timedelta | None:
    return None if number is None else dt.timedelta(seconds=number)


def _settings(job: Job) -> Any:
    return job.dag or sections(dag={}).dag


def _dag_arguments(job: Job) -> dict[str, Any]:
    settings = _settings(job)
    return {
        **schedule_and_start(settings),
        "catchup": False,
        "max_active_runs": 1,
        "description": settings.description,
        "tags": list(settings.tags),
        "default_args": task_arguments(job),
        "doc_md": _documentation(job),
        "params": check_parameter(),
    }


def schedule_and_start(settings: Any) -> dict[str, Any]:
    """Return the arguments of a DAG that say when it runs, by a `dag` section."""
    start = pendulum.datetime(*settings.start_date.timetuple()[:3], tz=settings.timezone)
    return {"schedule": settings.schedule, "start_date": start}


def _documentation(job: Job) -> str:
    models = "\n".join(f"- {markdown_text(model.describe())}" for model in job.counted_privacy)
    columns = "\n".join(
        f"| {markdown_text(name)} | {job.attributes[column].role} |"
        for column in job.attributes
        for name in ([column] if job.tables is None else _in_tables(job, column))
    )
    return (
        f"De-identifies `{job.name}` with at most {job.suppression_limit:.1%} of the records suppressed, so that:\n\n"
        f"{models}\n\n| column | role |\n| --- | --- |\n{columns}\n"
    )


def _in_tables(job: Job, column: str) -> list[str]:
    """Name a column with each of the linked tables that have it."""
    return [f"{table}.{column}" for table, own in job.columns_of_tables.items() if column in own]
