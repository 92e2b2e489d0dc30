"""Setup and teardown of a run: the private folder for patient data, made first and removed whatever happened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.run import staging
from airflow_anon.run.facts import has_ended

if TYPE_CHECKING:
    from airflow.sdk import Context


class _StagingOperator(BaseOperator):
    """Knows the staging folder of its run.

    Parameters
    ----------
    job_name : str
        The job whose data is staged.
    staging_base : str, optional
        Absolute path of the folder for all runs; by default `AIRFLOW_ANON_STAGING`, then the temporary folder.
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
    """Make the run's private staging folder, mode 0700, and return its path; remove what ended runs left.

    Examples
    --------
    >>> PrepareStagingOperator(task_id="prepare_staging", job_name="stays").as_setup()  # doctest: +SKIP
    """

    def execute(self, context: Context) -> str:
        """Make the folder.

        Raises
        ------
        AirflowFailException
            The folder is not private.
        """
        folder, base = self._folder(context)
        try:
            staging.prepare(folder, base)
        except staging.UnsafeStagingError as problem:
            raise AirflowFailException(str(problem)) from None
        try:
            self._remove_forgotten(folder.parent, base, context)
        except AirflowRuntimeError as problem:
            # That it stays is told, and is no failure of this run: the next one looks again.
            self.log.warning("What ended runs left below %s was not looked for: %s", folder.parent.parent, problem)
        return str(folder)

    def _remove_forgotten(self, own: Path, base: Path, context: Context) -> None:
        """Remove what ended runs of this DAG left, as where Airflow skipped their teardown.

        Only what is known to have ended is removed. A run is known by its ids alone, so another Airflow must not stage
        below the same base: it gives the scheduled runs of a DAG of the same id the same ids.
        """
        others = {folder for folder in own.parent.iterdir() if folder != own}
        if not others:
            return
        dag_id = context["dag_run"].dag_id
        # Asked after the folders were listed, so that the run of each is among them, unless it was deleted.
        for run_id in context["ti"].get_task_states(dag_id=dag_id):
            folder = staging.folder_of_run(base, dag_id, run_id)
            if folder in others:
                others.remove(folder)
                if has_ended(dag_id, run_id, context):
                    self._forget(folder, base)
        for folder in others:
            self.log.warning(
                "Staging folder %s: is of no run that Airflow knows; remove it, unless it is in use", folder
            )

    def _forget(self, folder: Path, base: Path) -> None:
        try:
            staging.remove(folder, base)
        except (staging.UnsafeStagingError, OSError) as problem:
            self.log.warning("Staging folder %s: patient data of an ended run was not removed: %s", folder, problem)
        else:
            self.log.warning("Staging folder %s: was left by a run that has ended; it is removed now", folder)


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
            A level of it is a link or somebody else's.
        OSError
            Something is left; a retry may remove it.
        """
        folder, base = self._folder(context)
        try:
            staging.remove(folder, base)
        except staging.UnsafeStagingError as problem:
            raise AirflowFailException(str(problem)) from None
        self.log.info("Staging folder removed")
