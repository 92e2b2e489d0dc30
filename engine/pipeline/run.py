"""One run: source ▶ codes ▶ frequency table ▶ search ▶ transformation ▶ output ▶ verification ▶ report.

In: a job, and optionally a table in place of the job's source. Out: a `Result` and, if wanted, a release folder. A run
leaves a verified release or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet

from engine.backends.backend import Backend
from engine.backends.choose import backend_for
from engine.backends.spark_access import SparkAccess
from engine.backends.spark_types import refuse as refuse_unkept_by_spark
from engine.backends.warehouse import Warehouse
from engine.codebook.codebook import codebook
from engine.codebook.readme import readme
from engine.errors import InvalidData, InvalidJob, NoSolution, VerificationFailed
from engine.formats.formats import refuse_unwritable, write_formats
from engine.frontiers.document import Choice
from engine.job.counting import open_source
from engine.job.hierarchies_stated import hierarchies_stated
from engine.job.job import Job, load_job
from engine.job.open_series import SeriesRun
from engine.job.spark_settings import access_of
from engine.linter.document import Lint
from engine.linter.lint import warnings_of, with_classes
from engine.message import Message
from engine.pipeline.attribute_inference import attribute_inference
from engine.pipeline.document import PublishedReport, Report, SometimesStated, Statement
from engine.pipeline.drift_file import keep_drift_facts, keeping_refused_drift
from engine.pipeline.output import classes_of_output, tables_stated
from engine.pipeline.perturbed import refuse_unperturbable
from engine.pipeline.private_levels import with_drawn_levels
from engine.pipeline.published import published
from engine.pipeline.release import replacing, write_manifest
from engine.pipeline.secrets_of_run import Secrets
from engine.pipeline.stopwatch import Stopwatch
from engine.pipeline.swapped_folder import SwappedFolder, published_before
from engine.pipeline.unverified import unverified_output
from engine.search.problem import Progress
from engine.search.suppressed_class import REFUSED
from engine.series.evidence import SeriesEvidence
from engine.series.proposal import Proposal
from engine.tables.class_table import ClassTable
from engine.tables.data_set import reads
from engine.tables.drift_facts import Facts
from engine.tables.linked import file_name
from engine.tables.release_files import CODEBOOK, DATA, JOB, README, REPORT
from engine.tables.table import Table
from engine.tables.transform import accounted
from engine.usefulness.measure import refuse_unmeasurable
from engine.verification import Finding, verify


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes
    ----------
    report : Report
        Plain data, with all digits: it is for the caller, who has the source, and leaves no run.
    published : PublishedReport
        What of it may leave the run: `report.json`.
    findings : list of Finding
        Findings of the verification; all hold.
    output : Path or None
        The release folder, if one was written.
    manifest_sha256 : str or None
        SHA-256 of its manifest.
    facts : Facts or None
        What is to be remembered of tonight's table, of a job that looks for drift: it counts few records, so it stays
        on the private side.
    """

    report: Report
    published: PublishedReport
    findings: list[Finding]
    output: Path | None = None
    manifest_sha256: str | None = None
    facts: Facts | None = field(default=None, repr=False)
    _table: pa.Table | dict[str, pa.Table] | None = field(default=None, repr=False)
    _refusal: str | None = field(default=None, repr=False)
    _tables: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """The released table; read from the release folder if it was streamed there.

        Raises
        ------
        NoSolution
            There is none: the suppressed records can neither stay nor be left out, or nothing would be left to tell
            apart.
        """
        if isinstance(self._table, pa.Table):
            return self._table
        if self.report.get("backend") == "sql":
            raise InvalidData("table: the release is in its warehouse, and is not read outside of it")
        if self._tables:
            raise InvalidData("table: the job has several tables; read tables, or a file of the release folder")
        if self.output is None:
            raise NoSolution(self._refusal or REFUSED)
        return pa.parquet.read_table(self.output / DATA)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The released tables by name, of a job with tables; read from the release folder if they were streamed there.

        Raises
        ------
        NoSolution
            As of `table`.
        """
        if not self._tables:
            raise InvalidData("tables: the job has one table; read table")
        if isinstance(self._table, Mapping):
            return dict(self._table)
        if self.output is None:
            raise NoSolution(self._refusal or REFUSED)
        return {name: pa.parquet.read_table(self.output / file_name(name)) for name in self._tables}


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
    source = open_source(job, table)
    folder = _folder(job, output)
    if folder is not None and table is None:
        _refuse_around_source(job, folder)
    refuse_unwritable(job, source.schema)
    refuse_unmeasurable(job, source.schema)
    refuse_unperturbable(job, source.schema)
    if job.backend == "spark":
        refuse_unkept_by_spark(source.schema, job.released)
    job, choice = _chosen(job, source, progress)
    with keeping_refused_drift(job) if keep_facts and folder is not None else nullcontext():
        return _released(
            job, source, folder, choice, repeats, used, progress, series, release_id, access, keep_facts=keep_facts
        )


def _released(
    job: Job,
    source: Table,
    folder: Path | None,
    choice: Choice | None,
    repeats: Mapping[str, bool | None] | None,
    used: Secrets,
    progress: Progress | None,
    series: SeriesRun | None,
    release_id: str | None,
    spark: SparkAccess,
    *,
    keep_facts: bool,
) -> Result:
    """Run a job whose source, folder and policy are known."""
    if job.series is not None:
        return _run_in_series(job, source, folder, repeats, used, progress, series, release_id, keep_facts=keep_facts)
    tables = tuple(job.tables or ())
    if folder is None:
        with backend_for(job.backend, job.memory_bytes, source=source, spark=spark) as backend:
            made = _make(backend, job, choice, source, repeats, used, progress)
        return Result(
            made.report, made.published, made.findings, _table=made.table, _refusal=made.refusal, _tables=tables
        )
    with replacing(folder) as fresh:
        # what the backend keeps on disk is gone before the manifest lists the folder
        with backend_for(job.backend, job.memory_bytes, fresh, source, spark) as backend:
            made = _make(backend, job, choice, source, repeats, used, progress, fresh / DATA, release_id=release_id)
        sha256 = _complete(fresh, job, made)
    if keep_facts:
        _keep(job, made)
    return Result(made.report, made.published, made.findings, folder, sha256, made.facts, _tables=tables)


def _run_in_series(
    job: Job,
    source: Table,
    folder: Path | None,
    repeats: Mapping[str, bool | None] | None,
    used: Secrets,
    progress: Progress | None,
    given: SeriesRun | None,
    release_id: str | None,
    *,
    keep_facts: bool,
) -> Result:
    """Run a job whose release must be written to a vault before anybody can read it."""
    if folder is None:
        raise InvalidJob("series: a release is remembered once it is in a folder; name an output path")
    series = published_before(job, folder) if given is None else given
    place = None if given is not None else SwappedFolder(job, series, folder)
    with replacing(folder, nullcontext if place is None else place.confirmed) as fresh:
        with backend_for(job.backend, job.memory_bytes, fresh, source) as backend:
            made = _make(backend, job, None, source, repeats, used, progress, fresh / DATA, series, release_id)
        sha256 = _complete(fresh, job, made)
        assert made.proposal is not None  # noqa: S101 (of a job with a series)
        series.vault.propose(made.proposal if place is None else place.proposed(made.proposal, sha256))
    if keep_facts:
        _keep(job, made)
    return Result(made.report, made.published, made.findings, folder, sha256, made.facts)


def _keep(job: Job, made: _Made) -> None:
    """Remember tonight's table, of a job that looks for drift."""
    if made.facts is not None:
        keep_drift_facts(job, made.facts)


def _folder(job: Job, output: str | Path | None) -> Path | None:
    """Return the release folder; None if the output stays in memory."""
    if output is None:
        if job.output is not None and job.output.keep is not None:
            raise InvalidJob(
                "output.keep: only a share of Airflow has several releases, and here one folder is replaced; take it "
                "out, or name another folder as output"
            )
        if job.output is not None and job.output.also:
            raise InvalidJob(
                "output.also: only Airflow publishes to several shares, and here one folder is written; take it out, "
                "or name another folder as output"
            )
        output = None if job.output is None else job.output.path
    if output is not None and "://" in str(output):
        raise InvalidJob(f"output {output}: only folders of this machine can be written here; name a local path")
    return None if output is None else Path(output)


def _refuse_around_source(job: Job, folder: Path) -> None:
    """Refuse a folder whose release would replace what the job reads, or be in the way of its next run."""
    target = folder.resolve()
    for path in (Path(source.path) for source in job.sources if source.path is not None):
        if target in path.resolve().parents:
            raise InvalidJob(f"output {folder}: holds the source {path}, which it would replace; name another folder")
        if reads(path, target):
            raise InvalidJob(
                f"output {folder}: is among the files of the source {path}, so that the next run could not read them; "
                "name a folder elsewhere, or one whose name begins with _"
            )


def _chosen(job: Job, source: Table, progress: Progress | None) -> tuple[Job, Choice | None]:
    """Return the job as executed: with the policy that its rule chooses, if it has a rule, or with levels drawn."""
    if job.choose is None:
        return with_drawn_levels(job, source), None
    from engine.frontiers.choice import choose  # noqa: PLC0415 (only jobs with a rule need the search for a frontier)

    return choose(job, source, progress)


class _Made(NamedTuple):
    """A verified output; no table where it was written to a file, or, with the reason, must not be released.

    `classes` are those of what was released into a file.
    """

    table: pa.Table | dict[str, pa.Table] | None
    findings: list[Finding]
    report: Report
    published: PublishedReport
    refusal: str | None = None
    classes: ClassTable | None = None
    proposal: Proposal | None = None
    facts: Facts | None = None


def _make(
    backend: Backend,
    job: Job,
    choice: Choice | None,
    source: Table,
    repeats: Mapping[str, bool | None] | None,
    used: Secrets,
    progress: Progress | None,
    data: Path | None = None,
    series: SeriesRun | None = None,
    release_id: str | None = None,
) -> _Made:
    """Run all steps once; each step reads the results of earlier steps and changes none of them.

    The output is written to the file `data`, if given.
    """
    watch = Stopwatch()
    # before anything reads them, so that the verification finds one that changes during the run
    hierarchies = _hierarchies(job, used)
    output = unverified_output(backend, job, choice, source, repeats, used, progress, data, series, release_id, watch)
    stated, findings, classes = cast("Statement", {**output.stated, **hierarchies}), [], None
    if output.refusal is not None:
        stated = _with_lint(job, stated, output.lint)
    else:
        with watch.step("verify"):
            classes = classes_of_output(job, source, data if output.table is None else output.table)
            inferred = attribute_inference(classes, job.minimum_class_size)
            stated = {**stated, **tables_stated(job, classes)}
            lint = with_classes(job, output.lint, classes)
            stated = {**_with_lint(job, stated, lint), "attribute_inference": inferred}
            findings = _verify(job, stated, classes, source, used, output.evidence)
        if output.usefulness is not None:
            stated = {**stated, "usefulness": output.usefulness}
    report: Report = {**stated, "timings": watch.seconds}
    return _Made(
        output.table,
        findings,
        report,
        published(job, report, output.measured, output.persons),
        output.refusal,
        # who reads a table inside a warehouse has no folder in which a codebook would be
        None if isinstance(source, Warehouse) else classes,
        output.proposal,
        output.facts,
    )


def _hierarchies(job: Job, used: Secrets) -> SometimesStated:
    """Return what the report says of the hierarchies; nothing without a key of fingerprints."""
    return {} if used.fingerprints is None else {"hierarchies": hierarchies_stated(job, used.fingerprints)}


def _with_lint(job: Job, stated: Statement, lint: Lint) -> Statement:
    """Add what the linter found; the texts are among the warnings."""
    warnings = [*stated.get("warnings", []), *warnings_of(job, lint)]
    return {**stated, "lint": lint, "warnings": warnings} if warnings else {**stated, "lint": lint}


def _verify(
    job: Job,
    stated: Statement,
    classes: ClassTable,
    source: Table,
    used: Secrets,
    series: SeriesEvidence | None = None,
) -> list[Finding]:
    drop = stated["suppressed_class"]["form"] == "drop"
    accounted(stated["rows"], stated["suppressed_class"]["records"], classes.rows, drop=drop)
    chosen_by: dict[str, Any] = {"rows_key": used.rows} if job.draws_rows else {}
    if used.keys.of_place:
        chosen_by |= {"keys": used.given, "release_key": used.release}
    if series is not None:
        chosen_by |= {"series": series}
    if used.fingerprints is not None:
        chosen_by |= {"fingerprint_key": used.fingerprints}
    findings = verify(classes, job, stated, source=source, **chosen_by)
    failed = [finding for finding in findings if not finding.holds]
    if failed:
        found = Message.joined("; ", (Message(f"{finding.check}: ", finding.message) for finding in failed))
        raise VerificationFailed(Message("the output was refused, nothing is released: ", found), list(findings))
    return findings


def _complete(folder: Path, job: Job, made: _Made) -> str:
    """Write the documents of a release next to its data; return the SHA-256 of its manifest."""
    (folder / REPORT).write_text(json.dumps(made.published, indent=2, allow_nan=False), encoding="utf-8")
    if made.classes is not None:
        solution, form = made.report["solution"], made.report["suppressed_class"]["form"]
        described = codebook(job, solution["levels"], form, made.classes)
        (folder / CODEBOOK).write_text(json.dumps(described, indent=2, allow_nan=False), encoding="utf-8")
        (folder / README).write_text(readme(described, job.further_formats), encoding="utf-8")
        write_formats(folder, job, described)
    (folder / JOB).write_text(str(job), encoding="utf-8")
    return write_manifest(folder, {"name": job.name})
