"""Step 7: a validated release goes to the research share, in one step and at most once."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Asset, BaseOperator

from airflow_anon.job_sections import sections
from airflow_anon.release_id import release_id
from airflow_anon.transport.connection import hook_of, password_of
from airflow_anon.transport.failure import database_errors
from airflow_anon.transport.folder_share import MANIFEST, FolderShare, file_sha256, local_path
from airflow_anon.transport.sql_share import SqlShare
from airflow_anon.transport.staged_release import VALIDATION, StagedRelease
from engine import InvalidJob, Job, load_job

if TYPE_CHECKING:
    from airflow.sdk import Context

DATA = "data.parquet"
OUTCOMES = {
    "loaded": "holds the release now",
    "present": "has had this release already and was not changed",
    "older": "holds a newer release and was not changed",
}
NOT_METRICS = ("release", "manifest_sha256")
"""What `deidentify` returns beside the metrics."""


class PublishReleaseOperator(BaseOperator):
    """Copy a validated release to the job's share folder, load it into its SQL share, and emit the Asset event.

    The release is written to ``SHARE/NAME/RELEASE_ID`` first, then the table is switched, then ``SHARE/NAME/current``.
    Each is one atomic step, and whatever an earlier try completed stays as it is.

    Parameters
    ----------
    job : path, mapping or Job
        The job; its output says where the release goes.
    release : str
        Folder of the release in staging.
    manifest_sha256, validation_sha256 : str
        Hashes of ``manifest.json`` and ``validation.json``, as ``deidentify`` and ``validate`` returned them.
    metrics : mapping
        What ``deidentify`` returned; emitted with the Asset event.
    validation : str, optional
        Path of the validation result; by default ``validation.json`` beside the release folder.
    publish_to : mapping, optional
        Instead of the job's output: ``{"path": …}`` and/or ``{"conn_id": …, "table": …}``.
    umask : int
        Permission bits that readers of the share do not get.
    outlets : list of Asset
        Updated by each publication, with the metrics as ``extra``.

    Returns
    -------
    dict
        The metrics, ``release_id`` (str) and ``path`` (str, None without a share folder).

    Examples
    --------
    >>> PublishReleaseOperator(
    ...     task_id="publish",
    ...     job="dags/jobs/hospital_stays.yaml",
    ...     release="{{ ti.xcom_pull('deidentify')['release'] }}",
    ...     manifest_sha256="{{ ti.xcom_pull('deidentify')['manifest_sha256'] }}",
    ...     validation_sha256="{{ ti.xcom_pull('validate')['validation_sha256'] }}",
    ...     metrics=deidentify.output,
    ...     outlets=[Asset("hospital_stays")],
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = (
        "release",
        "manifest_sha256",
        "validation_sha256",
        "metrics",
        "validation",
        "publish_to",
    )
    ui_color = "#d8f0d8"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        release: str,
        manifest_sha256: str,
        validation_sha256: str,
        metrics: Mapping[str, Any],
        validation: str | None = None,
        publish_to: Mapping[str, Any] | None = None,
        umask: int = 0o022,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.release = release
        self.manifest_sha256 = manifest_sha256
        self.validation_sha256 = validation_sha256
        self.metrics = metrics
        self.validation = validation
        self.publish_to = publish_to
        self.umask = umask

    def execute(self, context: Context) -> dict[str, Any]:
        """Publish the release, return its metrics, id and path.

        Raises
        ------
        AirflowFailException
            The release is not the validated one, or what stands in the share is not ours: a retry does not help.
        AirflowException
            The database failed; a retry completes what is missing.
        """
        job = self._job_with_output()
        identity = release_id(context)
        staged = self._staged()
        metrics = self._own_metrics()
        if job.output.path is not None:
            published = self._to_folder(job, identity, staged, metrics)
        else:
            with tempfile.TemporaryDirectory(dir=staged.folder.parent) as folder:
                staged.copy_to(Path(folder))
                self._to_table(job, identity, self.manifest_sha256, Path(folder) / DATA)
            published = {**metrics, "release_id": identity, "path": None}
        self._emit(context, published)
        return published

    def _job_with_output(self) -> Job:
        try:
            job = load_job(self.job)
            if self.publish_to is not None:
                job = job.model_copy(update={"output": sections(output=dict(self.publish_to)).output})
        except InvalidJob as problem:
            raise AirflowFailException(str(problem)) from None
        if job.output is None:
            raise AirflowFailException(f"job {job.name!r}: has no output; give it a path, or a conn_id and a table")
        return job

    def _staged(self) -> StagedRelease:
        folder = local_path(self.release, "release")
        beside = folder.parent / VALIDATION
        return StagedRelease(
            folder=folder,
            manifest_sha256=self.manifest_sha256,
            validation=local_path(self.validation, "validation") if self.validation else beside,
            validation_sha256=self.validation_sha256,
        )

    def _own_metrics(self) -> dict[str, Any]:
        if not isinstance(self.metrics, Mapping):
            raise AirflowFailException(
                "metrics: must be a mapping; give what deidentify returned as deidentify.output, not as a template text"
            )
        return {name: value for name, value in self.metrics.items() if name not in NOT_METRICS}

    def _to_folder(self, job: Job, identity: str, staged: StagedRelease, metrics: dict[str, Any]) -> dict[str, Any]:
        share = FolderShare(share=local_path(job.output.path, "output path"), name=job.name, umask=self.umask)
        manifest = share.published(identity)
        if manifest is not None:
            staged.check()
            self.log.info("Release %s of %s is in the share already; its files stay as they are", identity, job.name)
        else:
            manifest = share.add(identity, lambda folder: self._fill(folder, staged, job, identity, metrics))
            self.log.info("Release %s of %s written", identity, job.name)
        folder = share.release(identity)
        if job.output.conn_id is not None:
            self._to_table(job, identity, file_sha256(folder / MANIFEST), folder / DATA)
        if not share.make_current(identity):
            self.log.info("Release %s is older than the current one, which stays current", identity)
        # What counts is what was published, should the run have been cleared and have made another release since.
        return {**manifest.get("metrics", metrics), "release_id": identity, "path": str(folder)}

    def _fill(
        self, folder: Path, staged: StagedRelease, job: Job, identity: str, metrics: dict[str, Any]
    ) -> dict[str, Any]:
        staged.copy_to(folder)
        created = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
        return {"release_id": identity, "name": job.name, "created": created, "metrics": metrics}

    def _to_table(self, job: Job, identity: str, manifest_sha256: str, data: Path) -> None:
        output = job.output
        hook = hook_of(output.conn_id)
        with database_errors(f"publishing to table {output.table} of {output.conn_id!r}", password_of(hook)):
            share = SqlShare(hook, output.table)
            self.log.info("Table %s: %s", output.table, OUTCOMES[share.publish(identity, manifest_sha256, data)])

    def _emit(self, context: Context, published: dict[str, Any]) -> None:
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra = dict(published)
