"""The operator for a job file that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.observe.metrics import emit
from airflow_anon.operators.outcome import task_states
from airflow_anon.run.airflow_id import airflow_id
from airflow_anon.run.check_only import is_check
from airflow_anon.run.facts import run_facts
from airflow_anon.run.release_id import release_id
from airflow_anon.run.task_ids import RECORD_ATTEMPT

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry

UMASK = 0o022
"""Of what is settled: that of the task that publishes, which the job file may not set."""


class BrokenJobOperator(BaseOperator):
    """Fails with the reason why a job file could not be used.

    Airflow gives a run that is under way the tasks of the newest DAG. So where the file broke during a run, this task
    ends the attempt, as ``record_attempt`` would have: it settles its publication and writes its entry. A run that
    began with a broken file attempted nothing, and has no entry.

    Parameters
    ----------
    reason : str
        The error text of the engine.
    job_name : str, optional
        The job that the file was, as far as it still tells; without it nothing is recorded.
    group : str
        Prefix of the ids of the job's tasks while the file was whole, including the dot.
    """

    ui_color = "#f5c6c6"

    def __init__(self, *, reason: str, job_name: str | None = None, group: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reason = reason
        self.job_name = job_name
        self.group = group

    def execute(self, context: Context) -> None:
        """Record the attempt, if there was one, and fail.

        Raises
        ------
        AirflowFailException
            Always.
        """
        try:
            if self.job_name is not None and self._had_begun(context):
                entry = self._ended(self.job_name, context)
                self.log.info("Outcome: %s (entry %d of the ledger)", entry.outcome, entry.sequence)
        except (AirflowException, AirflowRuntimeError, OSError) as problem:
            self.log.warning("The attempt that the file ended is not in the ledger: %s", problem)
        raise AirflowFailException(self.reason)

    def _had_begun(self, context: Context) -> bool:
        """Whether the run has the task that would record the attempt, which Airflow has removed since."""
        records = f"{self.group}{RECORD_ATTEMPT}"
        return not is_check(context) and task_states([records], context)[records] is not None

    def _ended(self, job_name: str, context: Context) -> Entry:
        """Settle what the run published, and return the entry of the attempt."""
        from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415
        from airflow_anon.publication.settle import settle_and_record  # noqa: PLC0415

        run, airflow = context["dag_run"], airflow_id()
        facts = {**run_facts(context), "task_group": self.group, **({} if airflow is None else {"airflow": airflow})}
        with ledger_errors():
            ledger = open_ledger(None)
            pending = ledger.pending(job_name)
        for one in pending:
            if one.is_of_run(run.dag_id, run.run_id) and not one.is_of_another(airflow):
                return settle_and_record(one, ledger, UMASK, self.reason)
        with ledger_errors():
            entry = ledger.released(job_name, release_id(context))
            if entry is None or entry.attempt != facts["attempt"]:
                entry = ledger.append(self._document(job_name, facts))
        emit(entry, None, None)
        return entry

    def _document(self, job_name: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Return the document of the attempt: what the job was is not known any more."""
        from airflow import __version__ as airflow_version  # noqa: PLC0415 (heavy imports belong into execute)

        from airflow_anon.ledger import form, form_parts  # noqa: PLC0415
        from airflow_anon.ledger.entry import FORMAT  # noqa: PLC0415

        with form.writing():
            return form.Document(
                format=FORMAT,
                outcome="failed",
                name=job_name,
                reason=form_parts.Reason(task=self.task_id, error="InvalidJob", message=self.reason),
                run=form_parts.Run.model_validate(facts),
                job=form_parts.WrittenJob(sha256=None),
                versions={"airflow": airflow_version},
            ).stored()
