"""Step 7 of docs/flow.md: publishes a validated release to the research share, atomically and at most once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import Asset, BaseOperator

from airflow_anon.observe.lineage import PublishLineage
from airflow_anon.observe.metrics import emit
from airflow_anon.observe.recorded import recorded_in
from airflow_anon.operators.cut_off_after_entry import lead_to_cut_off
from airflow_anon.operators.release_metrics import metrics_in
from airflow_anon.run.approval import refused_without
from airflow_anon.run.check_only import is_check
from airflow_anon.run.earlier_results import refuse_missing
from airflow_anon.run.facts import attempt_of, run_facts
from airflow_anon.run.job_sections import sections
from airflow_anon.run.refusal import ReleaseRefused, told
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import local_path
from airflow_anon.share.staged_release import StagedRelease
from airflow_anon.transport.kept_table import keep
from airflow_anon.transport.release_files import COUNTS, DRIFT, HASHES, KEPT, SOURCE, VALIDATION
from airflow_anon.transport.staged_files import beside
from engine import InvalidJob, Job, load_job

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_anon.publication.publish import Publication


class PublishReleaseOperator(PublishLineage, BaseOperator):
    """Copy a validated release to the job's share folder, load it into its SQL share, and enter it into the ledger.

    The release is written to ``SHARE/NAME/RELEASE_ID`` first, then the table is switched, then the ledger gets its
    entry, then ``SHARE/NAME/current`` is switched. Each step is atomic, and steps that an earlier try completed are
    not repeated. The Asset event carries the metrics.

    Parameters
    ----------
    job : path, mapping or Job
        Its output says where the release goes. A path and the texts of a mapping are templates.
    release : str
        Folder of the release in staging.
    manifest_sha256, validation_sha256 : str
        Hashes of ``manifest.json`` and ``validation.json``, as ``deidentify`` and ``validate`` returned them.
    metrics : mapping
        The ``metrics`` of what ``deidentify`` returned, or all of it; emitted with the Asset event.
    validation : str, optional
        Path of the validation result; by default ``validation.json`` beside the release folder.
    publish_to : mapping, optional
        Replaces the job's output: ``{"path": …}`` and/or ``{"conn_id": …, "table": …}``.
    umask : int
        Permission bits that readers of the share do not get.
    extracted : mapping, optional
        What ``extract`` returned; rows, columns and fingerprint go into the ledger.
    population_extracted : mapping, optional
        What ``extract_population`` returned; what it read goes into the ledger.
    approval : mapping, optional
        What ``approve`` returned; a job with a section `approval` is not published without.
    ledger : str, optional
        Where the release ledger is: a connection id or an SQLAlchemy URL; by default `AIRFLOW_ANON_LEDGER`.
    fingerprint_key : str, optional
        Where the key of fingerprints is, as of ``deidentify``: of hierarchies that are not known to be those of the
        release, no examples are shown.
    outlets : list of Asset
        Updated by each publication, with the metrics as ``extra``.

    Returns
    -------
    dict
        The metrics, ``release_id`` (str), ``path`` (str, an address in a store; None without either),
        ``ledger_sequence`` (int) and ``ledger_sha256`` (str) of the ledger's entry.

    Examples
    --------
    >>> PublishReleaseOperator(
    ...     task_id="publish",
    ...     job="/opt/airflow/dags/jobs/hospital_stays.yaml",
    ...     release="{{ ti.xcom_pull('deidentify')['release'] }}",
    ...     manifest_sha256="{{ ti.xcom_pull('deidentify')['manifest_sha256'] }}",
    ...     validation_sha256="{{ ti.xcom_pull('validate')['validation_sha256'] }}",
    ...     metrics=deidentify.output["metrics"],
    ...     outlets=[Asset("hospital_stays")],
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = (
        "job",
        "release",
        "manifest_sha256",
        "validation_sha256",
        "metrics",
        "validation",
        "publish_to",
        "extracted",
        "population_extracted",
        "approval",
        "ledger",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml"}
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
        extracted: Mapping[str, Any] | None = None,
        population_extracted: Mapping[str, Any] | None = None,
        approval: Mapping[str, Any] | None = None,
        ledger: str | None = None,
        fingerprint_key: str | None = None,
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
        self.extracted = extracted
        self.population_extracted = population_extracted
        self.approval = approval
        self.ledger = ledger
        self.fingerprint_key = fingerprint_key

    @told
    def execute(self, context: Context) -> dict[str, Any]:
        """Publish the release; return its metrics, id and path.

        Raises
        ------
        ReleaseRefused
            The job's releases need an approval, and this one has none that counts.
        AirflowFailException
            The release is not the validated one, or the share or the ledger holds something that is not ours: a retry
            does not help.
        AirflowException
            A database failed; a retry completes what is missing.
        AirflowSkipException
            The run is to check only.
        """
        if is_check(context):  # whatever was cleared or marked by hand
            raise AirflowSkipException("the run is to check only: nothing is published")
        refuse_missing(
            release=self.release, manifest_sha256=self.manifest_sha256, validation_sha256=self.validation_sha256
        )
        from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415
        from airflow_anon.publication.publish import Publication  # noqa: PLC0415
        from airflow_anon.publication.series import confirm  # noqa: PLC0415

        written = _loaded(self.job)  # once: the file may be edited meanwhile
        job = job_with_output(written, self.publish_to)
        why = refused_without(job, self.approval, run_facts(context)["triggered_by"], self.manifest_sha256)
        if why is not None:
            raise ReleaseRefused(why)
        with ledger_errors():
            ledger = open_ledger(self.ledger)
        attempt = attempt_of(
            written, self.extracted, context, self.population_extracted, fingerprint_key=self.fingerprint_key
        )
        publication = Publication(
            job=job,
            release_id=release_id(context),
            ledger=ledger,
            attempt=replace(attempt, approval=self.approval),
            umask=self.umask,
            log=self.log,
        )
        lead_to_cut_off(ledger, job.name, self.task_id, self.umask, context, self.log)
        done = publication.complete(self._staged(written), metrics_in(self.metrics))
        confirm(publication.job, publication.release_id)
        if done.is_staged:
            self._remember(job)
        elif job.drift is not None:
            self.log.warning(
                "An earlier try of this run has released another table: drift remembers that one, not this"
            )
        self._keep_rows(job)
        self._retire(publication)
        self.recorded = recorded_in(ledger, done.entry)
        emit(done.entry, self.recorded.smallest, self.recorded.series)
        published = {
            **done.metrics,
            "release_id": publication.release_id,
            "path": done.place,
            "ledger_sequence": done.entry.sequence,
            "ledger_sha256": done.entry.entry_sha256,
        }
        self._emit(context, published)
        return published

    def _retire(self, publication: Publication) -> None:
        """Remove the releases that the job does not keep; the release is complete also if that fails."""
        from airflow_anon.publication.withdraw import retire  # noqa: PLC0415 (heavy imports belong into execute)

        try:
            retire(publication.job, publication.ledger, publication.umask, publication.log)
        except (AirflowException, OSError) as problem:
            self.log.warning("Earlier releases were not removed, the next publication tries again: %s", problem)

    def _remember(self, job: Job) -> None:
        """Let the next night be compared with this one; the release is complete also if that fails."""
        if job.drift is None:
            return
        from engine import keep_drift_facts  # noqa: PLC0415 (heavy imports belong into execute)

        try:
            keep_drift_facts(job, json.loads(beside(self.release, DRIFT).read_bytes()))
        except (OSError, ValueError, InvalidJob) as problem:
            why = problem if isinstance(problem, InvalidJob) else type(problem).__name__
            self.log.warning("The next night is compared with an earlier one, not with this: %s", why)

    def _keep_rows(self, job: Job) -> None:
        """Let the next night read changes alone; the release is complete also if that fails."""
        if job.incremental is None:
            return
        try:
            sealed = json.loads(beside(self.release, KEPT).read_bytes())
            with ExitStack() as stack:
                names = (SOURCE, HASHES, *((COUNTS,) if sealed.get("counts_sha256") else ()))
                files = [stack.enter_context(beside(self.release, name).open("rb")) for name in names]
                keep(Path(job.incremental.kept_in), sealed, *files)
        except (OSError, ValueError, AirflowFailException) as problem:
            why = problem if isinstance(problem, AirflowFailException) else type(problem).__name__
            self.log.warning("The next night reads what changed since an earlier one, or all rows: %s", why)

    def _staged(self, job: Job) -> StagedRelease:
        folder = local_path(self.release, "release")
        beside = folder.parent / VALIDATION
        return StagedRelease(
            folder=folder,
            manifest_sha256=self.manifest_sha256,
            validation=local_path(self.validation, "validation") if self.validation else beside,
            validation_sha256=self.validation_sha256,
            job=job,
        )

    def _emit(self, context: Context, published: dict[str, Any]) -> None:
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra = dict(published)


def job_with_output(job: str | Path | Mapping[str, Any] | Job, publish_to: Mapping[str, Any] | None) -> Job:
    """Return a job, with another output if one is given.

    Raises
    ------
    AirflowFailException
        The job or the output is invalid, or there is no output.
    """
    loaded = _loaded(job)
    if publish_to is not None:
        try:
            loaded = loaded.model_copy(update={"output": sections(output=dict(publish_to)).output})
        except InvalidJob as problem:
            raise AirflowFailException(str(problem)) from None
    if loaded.output is None:
        raise AirflowFailException(f"job {loaded.name!r}: has no output; give it a path, or a conn_id and a table")
    return loaded


def _loaded(job: str | Path | Mapping[str, Any] | Job) -> Job:
    try:
        return load_job(job)
    except InvalidJob as problem:
        raise AirflowFailException(str(problem)) from None
