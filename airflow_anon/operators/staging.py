"""Setup and teardown of a run: the private folder for patient data, made first and always removed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.operators.forgotten import mark_of_airflow, remove_abandoned
from airflow_anon.operators.outcome import refuse_mapped
from airflow_anon.run import staging
from airflow_anon.run.facts import has_ended

if TYPE_CHECKING:
    from airflow.sdk import Context


class _StagingOperator(BaseOperator):
    """Base of the operators that know the staging folder of their run.

    Parameters
    ----------
    job_name : str
        The job whose data is staged.
    staging_base : str, optional
        Absolute path of the folder for all runs; by default `AIRFLOW_ANON_STAGING`, or else the temporary folder.
    """

    template_fields: Sequence[str] = ("staging_base",)
    ui_color = "#eeeeee"

    def __init__(self, *, job_name: str, staging_base: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job_name = job_name
        self.staging_base = staging_base

    def _folder(self, context: Context) -> tuple[Path, Path]:
        try:
            base = staging.base_folder(self.staging_base)
        except staging.UnsafeStagingError as problem:
            raise AirflowFailException(str(problem)) from None
        run = context["dag_run"]
        return staging.run_folder(base, run.dag_id, run.run_id, self.job_name), base


class PrepareStagingOperator(_StagingOperator):
    """Make the run's private staging folder, mode 0700, and return its path; remove leftovers of ended runs.

    Those of this DAG, and those of other DAGs of this Airflow that have lain there for a while.

    Examples
    --------
    >>> PrepareStagingOperator(task_id="prepare_staging", job_name="stays").as_setup()  # doctest: +SKIP
    """

    def execute(self, context: Context) -> str:
        """Make the folder.

        Raises
        ------
        AirflowFailException
            The folder is not private, or the task is mapped: each instance would empty the folder of the others.
        """
        refuse_mapped(self, context)
        folder, base = self._folder(context)
        try:
            staging.prepare(folder, base)
        except staging.UnsafeStagingError as problem:
            raise AirflowFailException(str(problem)) from None
        run, mark = context["dag_run"], mark_of_airflow(self.log)
        if mark is not None:
            note = staging.Note(airflow=mark, dag_id=run.dag_id, run_id=run.run_id, job=self.job_name)
            staging.write_note(folder, note)
        try:
            if mark is not None:
                remove_abandoned(folder.parent, base, mark, context, self.log)
            self._remove_forgotten(folder.parent, base, mark, context)
        except AirflowRuntimeError as problem:
            # Leftovers are logged and do not fail this run: the next run looks again.
            self.log.warning("%s was not searched for leftovers of ended runs: %s", folder.parent.parent, problem)
        return str(folder)

    def _remove_forgotten(self, own: Path, base: Path, mark: str | None, context: Context) -> None:
        """Remove leftovers of ended runs of this DAG, for example if Airflow skipped their teardown.

        Only folders of runs known to have ended are removed. A run is known only by its ids, so another Airflow must
        not use the same base: scheduled runs of a DAG with the same id would have the same ids. What is noted as
        another's is left alone all the same.
        """
        of_others = {folder.parent for folder, note in staging.noted(base) if note.airflow != mark}
        others = {folder for folder in own.parent.iterdir() if folder != own} - of_others
        if not others:
            return
        dag_id = context["dag_run"].dag_id
        # Queried after listing the folders, so that each folder's run is found unless it was deleted.
        for run_id in context["ti"].get_task_states(dag_id=dag_id):
            folder = staging.folder_of_run(base, dag_id, run_id)
            if folder in others:
                others.remove(folder)
                if has_ended(dag_id, run_id, context):
                    self._forget(folder, base)
        for folder in others:
            self.log.warning(
                "Staging folder %s: belongs to no run that Airflow knows; remove it unless it is in use", folder
            )

    def _forget(self, folder: Path, base: Path) -> None:
        try:
            staging.remove(folder, base)
        except (staging.UnsafeStagingError, OSError) as problem:
            self.log.warning("Staging folder %s: patient data of an ended run was not removed: %s", folder, problem)
        else:
            self.log.warning("Staging folder %s: was left by a run that has ended; now removed", folder)


class RemoveStagingOperator(_StagingOperator):
    """Remove the run's staging folder.

    Examples
    --------
    >>> RemoveStagingOperator(task_id="remove_staging", job_name="stays").as_teardown(
    ...     setups=prepare, on_failure_fail_dagrun=True
    ... )  # doctest: +SKIP
    """

    def execute(self, context: Context) -> None:
        """Remove the folder; it may be gone already.

        Raises
        ------
        AirflowFailException
            A folder on its path is a link or belongs to another user.
        AirflowException
            The folder of all runs is not there, which no run removes; a retry may find it.
        OSError
            Something could not be removed; a retry may help.
        """
        folder, base = self._folder(context)
        # without a setup, as in the DAG of a broken job file, nothing was made
        if not base.exists() and any(task.is_setup for task in self.upstream_list):
            raise AirflowException(
                f"staging {base}: is not there, so patient data may remain where it is; mount the volume of "
                f"{staging.ENVIRONMENT} on every worker, and clear this task"
            )
        was_there = folder.exists()
        try:
            staging.remove(folder, base)
        except staging.UnsafeStagingError as problem:
            raise AirflowFailException(str(problem)) from None
        if was_there:
            self.log.info("Staging folder removed")
        else:
            self.log.warning(
                "Staging folder %s: was not there; if other tasks of the run worked on another machine, patient data "
                "remains there unless both have the same volume",
                folder,
            )
