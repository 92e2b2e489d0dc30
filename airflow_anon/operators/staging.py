"""Setup and teardown of a run: the private folder for patient data, made first and removed whatever happened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseOperator

from airflow_anon import staging

if TYPE_CHECKING:
    from airflow.sdk import Context


class _StagingOperator(BaseOperator):
    """Knows the staging folder of its run.

    Parameters
    ----------
    job_name : str
        The job whose data is staged.
    base : str, optional
        Absolute path of the folder for all runs; by default `AIRFLOW_ANON_STAGING`, then the temporary folder.
    """

    template_fields: Sequence[str] = ("base",)
    ui_color = "#eeeeee"

    def __init__(self, *, job_name: str, base: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job_name = job_name
        self.base = base

    def _folder(self, context: Context) -> tuple[Path, Path]:
        try:
            base = staging.base_folder(self.base)
        except staging.UnsafeStagingError as problem:
            raise AirflowFailException(str(problem)) from None
        run = context["dag_run"]
        return staging.run_folder(base, run.dag_id, run.run_id, self.job_name), base


class PrepareStagingOperator(_StagingOperator):
    """Make the run's private staging folder, mode 0700, and return its path.

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
        return str(folder)


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
