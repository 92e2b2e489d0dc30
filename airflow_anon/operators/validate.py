"""The check before publication: recounts a staged release with Great Expectations."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.observe.lineage import ValidateLineage
from airflow_anon.operators.ended import EndedWhenKilled
from airflow_anon.operators.release_in_warehouse import made_release
from airflow_anon.run.earlier_results import refuse_missing
from airflow_anon.run.refusal import ReleaseRefused, told
from airflow_anon.run.release_id import release_id
from airflow_anon.share.made_table import read_made
from airflow_anon.transport.fingerprint_key import NOT_COMPARED, known_key
from airflow_anon.transport.local_staging import local_source, with_local_population
from airflow_anon.transport.person_keys import opened_keys, places_of
from airflow_anon.transport.release_files import COUNTED, DATA, RELEASE_KEY, REPORT, ROWS_KEY, VALIDATION
from airflow_anon.transport.same_job import refuse_job_changed_since
from airflow_anon.transport.staged_files import beside, column_types, private_copy, record_count, write_json
from engine import (
    EngineError,
    Message,
    VaultBusy,
    VerificationFailed,
    check_manifest,
    hierarchies_problem,
    key_places,
    load_job,
    strict_json,
)

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_anon.expectations.in_database import ReleasedTable
    from engine import Job


class ValidateReleaseOperator(ValidateLineage, EndedWhenKilled):
    """Compare a staged release with the hash of its manifest, and recount everything its job demands.

    The suite of expectations is built from the job, the release's own report and the figures of the extraction. Its
    result is always written, as ``validation.json`` next to the release folder; it has no value of a record. If an
    expectation does not hold, the task fails without retries.

    Parameters
    ----------
    job : path, mapping or Job
        The job the release was made by. A path and the texts of a mapping are templates.
    release : str
        The staged release folder, a local path or an address such as ``s3://conn_id@bucket/folder``.
    manifest_sha256 : str
        SHA-256 of its ``manifest.json``, from the task that wrote it.
    source : str, optional
        Path of the extracted ``source.parquet``, which a job with backend sql does not have. Columns other than
        quasi-identifiers must have the types they have there. A job that releases a subset needs it, because it is the
        population; one with a `subject`, because nothing else says whose the records are.
    source_rows : int or str, optional
        Rows that were extracted; by default those of ``source``, one of the two is required. They are not in the XCom
        of the task that extracted them, because they tell how few records a release leaves out.
    population : str, optional
        Path of the extracted ``population.parquet``; required if the job's population is in a connection.
    fingerprint_key : str, optional
        Where the key of fingerprints is, as of ``deidentify``: hierarchies that are not those of the release are
        refused.

    Returns
    -------
    dict
        ``success`` (true), ``expectations`` (int, how many were evaluated), ``validation_sha256`` (str, of
        ``validation.json``).

    Examples
    --------
    >>> ValidateReleaseOperator(
    ...     task_id="validate",
    ...     job="/opt/airflow/dags/jobs/adult_nightly.yaml",
    ...     release="{{ ti.xcom_pull('deidentify')['release'] }}",
    ...     manifest_sha256="{{ ti.xcom_pull('deidentify')['manifest_sha256'] }}",
    ...     source="{{ ti.xcom_pull('extract')['path'] }}",
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = ("job", "release", "manifest_sha256", "source", "source_rows", "population")
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml"}
    ui_color = "#e5dff2"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        release: str,
        manifest_sha256: str,
        source: str | None = None,
        source_rows: int | str | None = None,
        population: str | None = None,
        fingerprint_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        # Each key of the result is a separate XCom, so that `validate.output["validation_sha256"]` can be passed on.
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.job = job
        self.release = release
        self.manifest_sha256 = manifest_sha256
        self.source_rows = source_rows
        self.source = source
        self.population = population
        self.fingerprint_key = fingerprint_key

    @told
    def execute(self, context: Context) -> dict[str, Any]:
        """Validate the release and write the result.

        Raises
        ------
        ReleaseRefused
            An expectation does not hold.
        AirflowFailException
            The folder is not the one that was written.
        AirflowException
            The vault of a series cannot be used now: a retry may help.
        """
        refuse_missing(release=self.release, manifest_sha256=self.manifest_sha256)
        target = beside(self.release, VALIDATION)
        target.unlink(missing_ok=True)  # the result of an earlier try must not be taken for this one's
        try:
            with self._work.going_on():
                document = self._document(context)
        except VaultBusy as problem:
            raise AirflowException(f"release {self.release} is not validated: {problem}") from None
        except (EngineError, _UnprovenError, FileNotFoundError, NotADirectoryError) as problem:
            unproven = Message(f"release {self.release} is not validated: ", _reason(problem))
            raise AirflowFailException(unproven) from None
        validation_sha256 = write_json(target, document)
        if not document["success"]:
            raise ReleaseRefused(_failed_types(document), f"release {self.release} {_failure(document)}")
        self.log.info("The release meets all %d expectations of %s", document["expectations"], document["suite"])
        return {"success": True, "expectations": document["expectations"], "validation_sha256": validation_sha256}

    def _document(self, context: Context) -> dict[str, Any]:
        from airflow_anon.expectations.run import run_suite  # noqa: PLC0415 (Great Expectations costs seconds)
        from airflow_anon.expectations.suite import release_suite  # noqa: PLC0415

        written = load_job(self.job)
        refuse_job_changed_since(self.release, written)
        with (
            with_local_population(written, self.population) as job,
            private_copy(self.release) as folder,
            self._compared_source(job) as source,
            ExitStack() as stack,
        ):
            _check(folder, self.manifest_sha256)
            _check_formats(folder, job)
            report = _report(folder)
            self._refuse_other_hierarchies(job, report)
            rows, types = self._of_source(job)
            people, traces = stack.enter_context(self._traces(job, source, context))
            rows = rows if traces is None else record_count(str(people))
            released = stack.enter_context(self._released(job, folder))
            try:
                suite = release_suite(
                    job,
                    report,
                    source_rows=_staying(job, released, rows),
                    source_types=types,
                    source=people,
                    rows_key=self._rows_key(job),
                    keys=self._keys(job),
                    traces=traces,
                )
            except ValueError as problem:  # made of the job and its report, without records
                raise _UnprovenError(str(problem)) from None
            result = run_suite(released, suite, job.memory_bytes)
        # The ledger keeps the hash of this document. It has no count of few records, so none can be tried until the
        # hash fits; the random part says the same of the figures of a refused release, whose document nobody gets.
        salt = secrets.token_hex(16)
        return {
            "job": job.name,
            "job_sha256": written.sha256,
            "manifest_sha256": self.manifest_sha256,
            "salt": salt,
            **result,
        }

    def _refuse_other_hierarchies(self, job: Job, report: Mapping[str, Any]) -> None:
        """Refuse to judge a release by files of hierarchies that were changed since it was made."""
        if "hierarchies" not in report:
            return
        key = known_key(self.fingerprint_key, self.log, NOT_COMPARED)
        changed = None if key is None else hierarchies_problem(job, report, key)
        if changed is not None:
            raise _UnprovenError(f"{changed}, or clear the run, which then makes the release anew")

    def _of_source(self, job: Job) -> tuple[int, dict[str, str] | None]:
        """Return the number of records of the source, and the types of its columns if they are known."""
        if job.backend != "sql":
            return self._source_rows(), column_types(self.source) if self.source else None
        try:
            counted = json.loads(beside(self.release, COUNTED).read_text())
            return int(counted["rows"]), dict(counted["types"])
        except (OSError, ValueError, LookupError, TypeError):
            raise _UnprovenError(f"{COUNTED}: is not beside the release; run the de-identification again") from None

    @contextmanager
    def _released(self, job: Job, folder: Path) -> Iterator[Path | ReleasedTable]:
        """Give the file of the release, or the table that was made of it in the warehouse, compared with its hash."""
        made = read_made(folder)
        if (made is not None) != (job.backend == "sql"):
            raise _UnprovenError("it was made by another backend than the job's; run the de-identification again")
        if made is None:
            with _data(job, folder) as data:
                yield data
            return
        with made_release(job, made) as released:
            yield released

    @contextmanager
    def _compared_source(self, job: Job) -> Iterator[Path | None]:
        """Give the extracted source as a local file if the release is compared with it."""
        by_records = job.subset is not None or job.suppress != "any" or bool(job.pseudonymized or job.perturbed)
        compares = by_records or job.subject is not None or job.is_private
        if not compares or not self.source:
            yield None
            return
        with local_source(self.source) as source:
            yield source

    @contextmanager
    def _traces(self, job: Job, source: Path | None, context: Context) -> Iterator[tuple[str | None, str | None]]:
        """Give the source, and of a job with a series only who is in the release, and the traces, in private files."""
        if job.series is None or source is None:
            yield source and str(source), None
            return
        from airflow_anon.expectations.traces import written_traces  # noqa: PLC0415 (pandas)
        from airflow_anon.transport.series_vault import series_of  # noqa: PLC0415 (it loads the engine's tables)
        from engine import evidence_in  # noqa: PLC0415

        moment = release_id(context)
        series = series_of(job, moment)
        evidence = evidence_in(series.vault, series.key, moment, job.series.memory)
        with tempfile.TemporaryDirectory() as folder:
            yield written_traces(job, source, evidence, Path(folder))

    def _rows_key(self, job: Job) -> str | None:
        """Read the key by which the de-identification left out, drew or perturbed rows, if the job lets it."""
        return self._staged_key(ROWS_KEY) if job.draws_rows and job.backend != "sql" else None

    def _keys(self, job: Job) -> dict[str, str]:
        """Return the keys of pseudonyms and shifted dates, hexadecimal, by key of the job that names their place."""
        lasting = {where: key.hex() for where, key in opened_keys(places_of(job)).items()}
        fresh = [where for where, _ in key_places(job) if where not in lasting]
        return {**lasting, **dict.fromkeys(fresh, self._staged_key(RELEASE_KEY))} if fresh else lasting

    def _staged_key(self, name: str) -> str:
        try:
            key = json.loads(beside(self.release, name).read_text())["key"]
            return bytes.fromhex(key).hex()
        except (OSError, ValueError, LookupError, TypeError):
            raise _UnprovenError(f"{name}: is not beside the release; run the de-identification again") from None

    def _source_rows(self) -> int:
        if self.source_rows is None and self.source:
            return record_count(self.source)
        try:
            return int(self.source_rows or "")
        except (TypeError, ValueError):
            raise _UnprovenError(
                "source_rows must be a whole number: give the rows that were extracted, or the path of the extracted "
                "file as source"
            ) from None


def _staying(job: Job, released: Path | ReleasedTable, rows: int) -> int:
    """Return how many records of a source inside its warehouse stay; of an extracted one its own suite knows."""
    if job.backend != "sql" or job.max_rows is None:
        return rows
    counted: int = released.staying_rows(rows, job.max_rows)  # type: ignore[union-attr] (it is in the warehouse)
    return counted


@contextmanager
def _data(job: Job, folder: Path) -> Iterator[Path]:
    """Give the file of a release; of linked tables a private one with the records of all."""
    if job.tables is None:
        yield folder / DATA
        return
    from airflow_anon.expectations.linked_release import stacked_release  # noqa: PLC0415 (pyarrow is for tasks)

    with tempfile.TemporaryDirectory(prefix="tables-") as private:
        yield stacked_release(folder, job.released_of_tables, Path(private) / DATA)


class _UnprovenError(Exception):
    """Why there is no validation, in words of this module. Other libraries' errors may quote a value."""


def _check(folder: Path, manifest_sha256: str) -> None:
    """Compare the copy with the hash; the error names the file, not the temporary folder."""
    try:
        check_manifest(folder, manifest_sha256)
    except VerificationFailed as problem:
        raise _UnprovenError(str(problem).replace(f"{folder}/", "").replace(f"{folder}: ", "")) from None


def _check_formats(folder: Path, job: Job) -> None:
    """Compare what is released beside Parquet with it: the expectations judge that file alone."""
    from engine import compared_formats  # noqa: PLC0415 (pyarrow is for tasks)

    failed = [str(finding.message) for finding in compared_formats(folder, job) if not finding.holds]
    if failed:
        raise _UnprovenError("; ".join(failed))


def _report(folder: Path) -> dict[str, Any]:
    try:
        report = strict_json((folder / REPORT).read_bytes())
    except ValueError:
        report = None
    if not isinstance(report, dict):
        raise _UnprovenError(f"{REPORT}: is not a JSON object; run the de-identification again")
    return report


def _reason(problem: Exception) -> str:
    if isinstance(problem, EngineError):
        return problem.message
    if isinstance(problem, OSError):
        return f"{problem.filename or problem}: not found; clear the whole run, since staging is removed at its end"
    return str(problem)


def _failure(document: Mapping[str, Any]) -> str:
    failed = [result for result in document["results"] if not result["success"]]
    lines = [
        f"{result['expectation_type']}: observed {result['observed']}, required {result['required']} "
        f"({result['message']})"
        for result in failed
    ]
    missing = document["expectations"] - len(document["results"])
    if missing:
        lines.append(f"{missing} expectations were not evaluated")
    return f"does not meet {len(lines)} of {document['expectations']} expectations: {'; '.join(lines)}"


def _failed_types(document: Mapping[str, Any]) -> str:
    """Name the expectations that do not hold, without observed figures, which may be about few records."""
    failed = [result["expectation_type"] for result in document["results"] if not result["success"]]
    return f"the release does not meet {', '.join(failed) or 'every expectation: some were not evaluated'}"
