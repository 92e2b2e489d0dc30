"""The first task of a run: it prepares staging, and where the run is to check only, it checks and ends the work.

In: the job and the parameter `check_only` of the run. Out: the staging folder; or the findings, in the log and as the
XCom `check`. Nothing is published then, no vault is written, and the ledger gets no entry: it holds attempts to
release, and a check attempts none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, SkipMixin

from airflow_anon.operators.deidentify import engine_errors
from airflow_anon.operators.staging import PrepareStagingOperator
from airflow_anon.run import staging
from airflow_anon.run.check_only import is_check
from airflow_anon.run.facts import run_type_of
from airflow_anon.run.refusal import told
from engine import Job, Message

if TYPE_CHECKING:
    from airflow.sdk import Context

    from engine import Check

XCOM_KEY = "check"


class PrepareRunOperator(PrepareStagingOperator, SkipMixin):
    """Make the run's private staging folder and return its path; in a run with `check_only` check the job instead.

    A check reads the whole table into the folder, makes and verifies the release there, and removes it. Then the tasks
    of the work are skipped.

    Parameters
    ----------
    job : Job
        Its name is that of the folder.
    staging_base : str, optional
        As of `PrepareStagingOperator`.

    Examples
    --------
    >>> PrepareRunOperator(task_id="prepare_staging", job=job).as_setup()  # doctest: +SKIP
    """

    def __init__(self, *, job: Job, **kwargs: Any) -> None:
        super().__init__(job_name=job.name, **kwargs)
        self.job = job

    @told
    def execute(self, context: Context) -> str:
        """Make the folder; check, where the run is to check only.

        Raises
        ------
        AirflowFailException
            The folder is not private; or a release would not be made: all reasons, without a value of a record.
        AirflowException
            The database failed while it was checked; a retry may help.
        """
        folder = super().execute(context)
        self._tell_of_backfill(context)
        if not is_check(context):
            return folder
        try:
            found = self._checked(Path(folder), context)
        except BaseException:
            # the teardown that removes it does not run after a setup that failed
            staging.remove(*self._folder(context))
            raise
        self._tell(found, context)
        self.skip(ti=context["ti"], tasks=self._work())
        return folder

    def _tell_of_backfill(self, context: Context) -> None:
        """Say what a backfill reads, unless a template of the job may name the day of the run."""
        run = context["dag_run"]
        if run_type_of(run) == "backfill" and self._rendered(context) == self.job:
            self.log.warning(
                "This run is of a backfill, and nothing in the source of the job depends on its day: it reads the "
                "table as it is now, and its release has the date %s; readers are led to it unless they have one of a "
                "later date. For one release of today, trigger the DAG instead",
                run.logical_date,
            )

    def _checked(self, folder: Path, context: Context) -> Check:
        from airflow_anon.run.check_table import check_job  # noqa: PLC0415 (heavy imports belong into execute)

        with engine_errors():
            found = check_job(self._rendered(context), folder=folder)
        if found.problems:
            raise AirflowFailException(Message.joined("\n", [*found.problems, "a run would release nothing"]))
        return found

    def _tell(self, found: Check, context: Context) -> None:
        from engine import check_lines  # noqa: PLC0415 (heavy imports belong into execute)

        lines = list(check_lines(found))
        for line in lines:
            self.log.info("%s", line)
        context["ti"].xcom_push(key=XCOM_KEY, value=lines)

    def _rendered(self, context: Context) -> Job:
        """Return the job with the templates of its tables and queries rendered, as `extract` renders them."""
        tables = self.job.tables
        return self.job.model_copy(
            update={
                "source": self._rendered_source(self.job.source, context),
                "tables": None
                if tables is None
                else {
                    name: one.model_copy(update={"source": self._rendered_source(one.source, context)})
                    for name, one in tables.items()
                },
            }
        )

    def _rendered_source(self, source: Any, context: Context) -> Any:
        if source is None:
            return None
        written = {"conn_id": source.conn_id, "table": source.table, "query": source.query}
        return source.model_copy(update=self.render_template(written, context))

    def _work(self) -> Sequence[Any]:
        # those after them are skipped by their own rules
        return [task for task in self.get_direct_relatives(upstream=False) if not task.is_teardown]
