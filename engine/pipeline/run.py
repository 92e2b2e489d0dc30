"""One run: source ▶ codes ▶ frequency table ▶ search ▶ transformation ▶ output ▶ verification ▶ report.

In: a job, and optionally a table in place of the job's source. Out: a `Result` and, if wanted, a release folder. A run
leaves a verified release or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from engine.backends.choose import backend_for
from engine.backends.spark_access import SparkAccess
from engine.backends.spark_types import refuse as refuse_unkept_by_spark
from engine.errors import InvalidJob
from engine.formats.formats import refuse_unwritable
from engine.frontiers.document import Choice
from engine.job.counting import open_source
from engine.job.job import Job
from engine.job.load import load_job
from engine.job.open_series import SeriesRun
from engine.job.spark_settings import access_of
from engine.pipeline.drift_file import keep_drift_facts, keeping_refused_drift
from engine.pipeline.given import Given
from engine.pipeline.output_folder import folder_of, refuse_around_source
from engine.pipeline.perturbed import refuse_unperturbable
from engine.pipeline.private_levels import with_drawn_levels
from engine.pipeline.release import replacing
from engine.pipeline.result import Result
from engine.pipeline.secrets_of_run import Secrets
from engine.pipeline.swapped_folder import SwappedFolder, published_before
from engine.pipeline.verified import Verified, verified_output
from engine.pipeline.written_documents import write_documents
from engine.search.problem import Progress
from engine.tables.release_files import DATA
from engine.tables.sources.table import Table
from engine.usefulness.measure import refuse_unmeasurable


def run(
    job: str | Path | Mapping[str, Any] | Job,
    table: Any = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
    repeats: Mapping[str, bool | None] | None = None,
    rows_key: bytes | None = None,
    keys: Mapping[str, bytes] | None = None,
    release_key: bytes | None = None,
    series: SeriesRun | None = None,
    release_id: str | None = None,
    keep_facts: bool = True,
    spark: SparkAccess | None = None,
    fingerprint_key: bytes | None = None,
) -> Result:
    """De-identify a table.

    Parameters
    ----------
    job : path, mapping or Job
    table : pyarrow Table or RecordBatchReader, pandas DataFrame, Warehouse, or mapping, optional
        Used instead of the job's source; of a job with tables a mapping of their names to tables. With a `Warehouse`
        (backend sql) records are neither read nor written here: the release is in the warehouse, and its folder has
        documents alone. Whoever made the warehouse commits it.
    output : path, optional
        Release folder, instead of the job's output path. Without either the output stays in memory.
    progress : callable, optional
        Receives plain figures of the running search from time to time.
    repeats : mapping of column to bool or None, optional
        Of identifying columns that stay in the warehouse: whether several records have the same value; None where it
        is not known.
    rows_key : bytes, optional
        The key that chooses which rows of a person `max_rows` leaves out, or that draws the sample, 32 bytes, for a
        later verification; without it a random one that is kept nowhere.
    keys : mapping of connection id to bytes, optional
        The keys of pseudonyms and shifted dates that the job names by `key_conn_id`.
    release_key : bytes, optional
        The key of pseudonyms and shifted dates that are others in each release, 32 random bytes, for a later
        verification; without it a random one that is kept nowhere.
    series : SeriesRun, optional
        The vault of a job with a series, and the id of tonight's release, of whoever publishes the folder: it is
        written to the vault as pending, and the caller confirms it. Without it the job's own files are opened, and the
        release is confirmed with the folder.
    release_id : str, optional
        The id of the release in its share, which the file of records says of itself.
    keep_facts : bool
        Remember tonight's table, of a job that looks for drift, once the folder is there; a run without a folder
        remembers none. Whoever publishes the folder later gives `Result.facts` to `keep_drift_facts` then.
    spark : SparkAccess, optional
        With backend spark: where it is, of a job that names a connection, and what it counted before (`count_apart`).
    fingerprint_key : bytes, optional
        A secret that stays the same from run to run: the report then has a digest of each hierarchy under it, so that
        a later verification with the key refuses other hierarchies. Without it the report says nothing of them.

    Raises
    ------
    InvalidJob, InvalidData
        The job, a hierarchy or the table is invalid; or, before anything is read, a key of the job is not the one that
        it names.
    SparkLost
        With backend spark: it does not answer, or ended while it worked.
    DriftRefused
        The table is not like that of the last release, by more than the job allows.
    NoSolution
        No transformation satisfies the criteria, or none was found within the time limit; or what was found cannot be
        released, because the suppressed records can neither stay nor be left out, or because nothing would be left to
        tell apart. Without a release folder the last one is raised by `Result.table`, so that the report of the search
        can be compared.
    VerificationFailed
        The output does not meet the criteria, by a defect or because the source changed. Nothing is released.
    """
    job = load_job(job)
    access = access_of(job, spark)
    used = Secrets.of(job, rows_key, keys, release_key, fingerprint_key)
    given = Given(used, repeats, progress, release_id, keep_facts)
    source = open_source(job, table)
    folder = folder_of(job, output)
    if folder is not None and table is None:
        refuse_around_source(job, folder)
    refuse_unwritable(job, source.schema)
    refuse_unmeasurable(job, source.schema)
    refuse_unperturbable(job, source.schema)
    if job.backend == "spark":
        refuse_unkept_by_spark(source.schema, job.released)
    job, choice = _chosen(job, source, progress)
    with keeping_refused_drift(job) if keep_facts and folder is not None else nullcontext():
        return _released(job, source, folder, choice, given, series, access)


def _released(
    job: Job,
    source: Table,
    folder: Path | None,
    choice: Choice | None,
    given: Given,
    series: SeriesRun | None,
    spark: SparkAccess,
) -> Result:
    """Run a job whose source, folder and policy are known."""
    if job.series is not None:
        return _run_in_series(job, source, folder, given, series)
    tables = tuple(job.tables or ())
    if folder is None:
        with backend_for(job.backend, job.memory_bytes, source=source, spark=spark) as backend:
            made = verified_output(backend, job, choice, source, given)
        return Result(
            made.report, made.published, made.findings, _table=made.table, _refusal=made.refusal, _tables=tables
        )
    with replacing(folder) as fresh:
        # what the backend keeps on disk is gone before the manifest lists the folder
        with backend_for(job.backend, job.memory_bytes, fresh, source, spark) as backend:
            made = verified_output(backend, job, choice, source, given, fresh / DATA)
        sha256 = write_documents(fresh, job, made)
    if given.keep_facts:
        _keep(job, made)
    return Result(made.report, made.published, made.findings, folder, sha256, made.facts, _tables=tables)


def _run_in_series(
    job: Job,
    source: Table,
    folder: Path | None,
    given: Given,
    of_publisher: SeriesRun | None,
) -> Result:
    """Run a job whose release must be written to a vault before anybody can read it."""
    if folder is None:
        raise InvalidJob("series: a release is remembered once it is in a folder; name an output path")
    series = published_before(job, folder) if of_publisher is None else of_publisher
    place = None if of_publisher is not None else SwappedFolder(job, series, folder)
    with replacing(folder, nullcontext if place is None else place.confirmed) as fresh:
        with backend_for(job.backend, job.memory_bytes, fresh, source) as backend:
            made = verified_output(backend, job, None, source, given, fresh / DATA, series)
        sha256 = write_documents(fresh, job, made)
        assert made.proposal is not None  # noqa: S101 (of a job with a series)
        series.vault.propose(made.proposal if place is None else place.proposed(made.proposal, sha256))
    if given.keep_facts:
        _keep(job, made)
    return Result(made.report, made.published, made.findings, folder, sha256, made.facts)


def _keep(job: Job, made: Verified) -> None:
    """Remember tonight's table, of a job that looks for drift."""
    if made.facts is not None:
        keep_drift_facts(job, made.facts)


def _chosen(job: Job, source: Table, progress: Progress | None) -> tuple[Job, Choice | None]:
    """Return the job as executed: with the policy that its rule chooses, if it has a rule, or with levels drawn."""
    if job.choose is None:
        return with_drawn_levels(job, source), None
    from engine.frontiers.choice import choose  # noqa: PLC0415 (only jobs with a rule need the search for a frontier)

    return choose(job, source, progress)
