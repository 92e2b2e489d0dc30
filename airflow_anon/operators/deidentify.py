"""Steps 2 to 6 of docs/flow.md: the engine makes a verified release of the staged table."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, conf

from airflow_anon.operators.ended import EndedWhenKilled
from airflow_anon.operators.release_metrics import Deidentified
from airflow_anon.operators.what_was_read import note_what_was_read
from airflow_anon.run.earlier_results import refuse_missing
from airflow_anon.run.progress import LoggedProgress
from airflow_anon.run.refusal import ReleaseRefused, told
from airflow_anon.run.release_id import release_id
from airflow_anon.transport.address import is_local, path_of
from airflow_anon.transport.counted_rows import NotCountedError
from airflow_anon.transport.counted_source import counted_source
from airflow_anon.transport.fingerprint_key import known_key
from airflow_anon.transport.local_staging import local_source, staged_release, with_local_population
from airflow_anon.transport.person_keys import passwords_of, places_of
from airflow_anon.transport.release_files import DRIFT, RELEASE_KEY, ROWS_KEY
from airflow_anon.transport.same_job import stage_job
from airflow_anon.transport.spark_connection import spark_access
from airflow_anon.transport.staged_files import write_json
from airflow_anon.triggers.spark_count import SparkCountTrigger
from engine import (
    RELEASE_KEY_BYTES,
    DriftRefused,
    EngineError,
    Job,
    Message,
    NoSolution,
    SparkLost,
    VaultBusy,
    VerificationFailed,
    key_places,
    load_job,
    release_metrics,
    why_counted_in_full,
)

if TYPE_CHECKING:
    from airflow.sdk import Context

    from engine import CountedApart, CountedTable, PublishedReport, Result

_COUNTS = "counted"
_NOT_STATED = "The release does not say with which hierarchies it is made"


class DeidentifyTableOperator(EndedWhenKilled):
    """De-identify a staged table as its job says, and verify the output.

    The release folder appears when it is complete and verified; a retry replaces what an earlier try left.

    Parameters
    ----------
    job : path, mapping or Job
        The roles of the columns and the criteria. A path and the texts of a mapping are templates; a ``Job`` is not
        rendered.
    source : str
        Path of the staged Parquet file, as ``extract`` returned it: a local one or an address such as ``s3://…``, which
        is copied to a private local folder for the time of the run.
    staging : str
        The run's staging folder, local or remote; the release goes to ``release/`` in it.
    population : str, optional
        The staged Parquet file of the population, if the job reads it from a connection; local or remote.
    extracted : mapping, optional
        What ``extract`` returned: ``job.yaml`` of the release says what a templated table or query was rendered to, and
        the report whether identifying columns repeat, which stay in the warehouse.
    population_extracted : mapping, optional
        What ``extract_population`` returned: ``job.yaml`` says what its templates were rendered to.
    ledger : str, optional
        Where the release ledger is, as of ``publish``: a job with a ``series`` is compared with it.
    fingerprint_key : str, optional
        Where the key of fingerprints is, as of ``extract``: under it are the digests of the hierarchies, and it seals
        the counts of a job with `incremental`.
    deferrable : bool
        Whether a Spark Connect server counts while no worker waits, which needs a triggerer; by default as Airflow's
        setting ``[operators] default_deferrable`` says.

    Returns
    -------
    Deidentified
        ``release`` (path), ``manifest_sha256``, ``metrics``: the `Metrics` of the release. Each metric is
        also a key of the result by its own name, and each key is a separate XCom.

    Examples
    --------
    >>> DeidentifyTableOperator(
    ...     task_id="deidentify",
    ...     job="/opt/airflow/dags/jobs/hospital_stays.yaml",
    ...     source=extract.output["path"],
    ...     staging=prepare.output,
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = (
        "job",
        "source",
        "staging",
        "population",
        "extracted",
        "population_extracted",
        "ledger",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml"}
    ui_color = "#f5e6d0"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        source: str,
        staging: str,
        population: str | None = None,
        extracted: Mapping[str, Any] | None = None,
        population_extracted: Mapping[str, Any] | None = None,
        ledger: str | None = None,
        fingerprint_key: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        # Each key of the result is a separate XCom, so that `deidentify.output["release"]` can be passed on.
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.job = job
        self.source = source
        self.staging = staging
        self.population = population
        self.extracted = extracted
        self.population_extracted = population_extracted
        self.ledger = ledger
        self.fingerprint_key = fingerprint_key
        self.deferrable = deferrable

    @told
    def execute(self, context: Context) -> Deidentified:
        """Make the release; return its path and its metrics.

        Raises
        ------
        ReleaseRefused
            No transformation satisfies the criteria, or the verification failed.
        AirflowFailException
            The job or the data is invalid, or the job's table could get no release: a retry would fail too. The message
            holds no value of a record.
        AirflowException
            Spark was lost, or the vault of a series cannot be used now: a retry may help.
        TaskDeferred
            Spark counts first, and the worker is free meanwhile.
        """
        refuse_missing(source=self.source, staging=self.staging)
        if self.deferrable:
            self._defer_count()
        return self._released(context)

    @told
    def execute_counted(self, context: Context, event: Mapping[str, Any]) -> Deidentified:
        """Go on after Spark has counted; see `execute`."""
        from engine import CountedApart  # noqa: PLC0415 (a DAG file imports this module)

        try:
            if "problem" in event:
                kind = AirflowException if event["passing"] else AirflowFailException
                raise kind(event["problem"])
            return self._released(context, CountedApart(Path(event["folder"]), tuple(event["columns"])))
        finally:
            shutil.rmtree(self._counts, ignore_errors=True)

    @property
    def _counts(self) -> Path:
        """Where Spark writes what it counts before the run; staging is removed at the end, whatever becomes of it."""
        return Path(path_of(self.staging).path) / _COUNTS

    def _defer_count(self) -> None:
        """Let Spark count while no worker waits, if it can.

        Raises
        ------
        TaskDeferred
            It can.
        """
        from engine import count_apart  # noqa: PLC0415 (a DAG file imports this module)

        with engine_errors():
            job = load_job(self.job)
            if job.backend != "spark":
                return
            count = None
            if is_local(path_of(self.source)) and is_local(path_of(self.staging)):
                shutil.rmtree(self._counts, ignore_errors=True)
                with local_source(self.source) as source:
                    count = count_apart(job.with_source(source), self._counts, spark_access(job))
        if count is None:
            self.log.warning(
                "The worker waits while Spark counts: only a Spark Connect server counts a Parquet file in a staging "
                "folder while nobody waits"
            )
            return
        place = job.spark
        conn_id, remote = (None, None) if place is None else (place.conn_id, place.remote)
        trigger = SparkCountTrigger(count.document(), conn_id, remote)
        self.log.info("Spark counts; the task goes on when it has")
        self.defer(trigger=trigger, method_name="execute_counted", timeout=self.execution_timeout)

    def _released(self, context: Context, apart: CountedApart | None = None) -> Deidentified:
        from airflow_anon.share.sql_constraints import refuse_before_run  # noqa: PLC0415 (as below)
        from engine import keeping_refused_drift, run  # noqa: PLC0415 (compiles kernels; a DAG file imports this module)

        with engine_errors():
            written = load_job(self.job)
            refuse_before_run(written)
            with (
                self._work.going_on(),
                with_local_population(written, self.population) as job,
                local_source(self.source) as source,
                staged_release(self.staging) as release,
                keeping_refused_drift(written),
            ):
                counted = self._counted(job, source)
                result = run(
                    job.with_source(source),
                    table=counted,
                    output=release.folder,
                    progress=LoggedProgress(self.log),
                    **self._rows_key(job),
                    **self._keys(job),
                    **_repeats(self.extracted),
                    **self._series(job, context),
                    **({} if written.spark is None else {"spark": replace(spark_access(written), counted=apart)}),
                    keep_facts=False,
                    # where records are extracted, that task has the key or has ended
                    fingerprint_key=known_key(self.fingerprint_key, self.log, _NOT_STATED),
                    **({"release_id": release_id(context)} if "dag_run" in context else {}),
                )
                if counted is not None and not counted.asked:
                    self.log.info("Counting: all rows, because the records of this night are not those of the table")
                stage_facts(self.staging, result)
                stage_job(self.staging, written)
                noted = note_what_was_read(release.folder, written, self.extracted, self.population_extracted)
                manifest_sha256 = noted or result.manifest_sha256
        assert manifest_sha256 is not None  # noqa: S101 (it was written into a folder)
        return told_release(result.published, release.address, manifest_sha256, self.log)

    def _counted(self, job: Job, source: Path) -> CountedTable | None:
        """Return the staged table with the counts of the extraction; None where all rows are counted."""
        if job.incremental is None:
            return None
        why = why_counted_in_full(job)
        if why is not None:
            self.log.info("Counting: all rows, because the job has %s", why)
            return None
        try:
            return counted_source(source, self.source, self.fingerprint_key)
        except NotCountedError as reason:
            self.log.info("Counting: all rows, because %s", reason)
            return None

    def _series(self, job: Job, context: Context) -> dict[str, Any]:
        """Return the argument of `engine.run` for a job with a series: its vault, in step with the ledger."""
        if job.series is None:
            return {}
        from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.publication.errors import ledger_errors  # noqa: PLC0415
        from airflow_anon.publication.series import settled_series  # noqa: PLC0415

        with ledger_errors():
            ledger = open_ledger(self.ledger)
        return {"series": settled_series(job, ledger, release_id(context))}

    def _rows_key(self, job: Job) -> dict[str, Any]:
        """Return the argument of `engine.run` for a job that leaves out or draws rows: a new key, staged too."""
        if not job.draws_rows:
            return {}
        key = secrets.token_bytes(32)
        write_json(path_of(self.staging) / ROWS_KEY, {"key": key.hex()})
        return {"rows_key": key}

    def _keys(self, job: Job) -> dict[str, Any]:
        """Return the arguments of `engine.run` for pseudonyms and shifted dates; a key of this release is staged."""
        places = places_of(job)
        found: dict[str, Any] = {"keys": passwords_of(places)} if places else {}
        if len(places) == len(list(key_places(job))):
            return found
        key = secrets.token_bytes(RELEASE_KEY_BYTES)
        write_json(path_of(self.staging) / RELEASE_KEY, {"key": key.hex()})
        return {**found, "release_key": key}


@contextmanager
def engine_errors() -> Iterator[None]:
    """Turn the engine's errors into those that end an attempt: refused by a criterion, or failed."""
    try:
        yield
    except (NoSolution, DriftRefused) as problem:
        raise ReleaseRefused(Message(f"{type(problem).__name__}: ", problem.message)) from None
    except VerificationFailed as problem:
        raise ReleaseRefused(_failed_checks(problem), f"VerificationFailed: {problem}") from None
    except (SparkLost, VaultBusy) as problem:
        raise AirflowException(Message(f"{type(problem).__name__}: ", problem.message)) from None
    except EngineError as problem:
        raise AirflowFailException(Message(f"{type(problem).__name__}: ", problem.message)) from None


def stage_facts(staging: str, result: Result) -> None:
    """Stage what is remembered of tonight's table, until it is known that its release was published."""
    if result.facts is not None:
        write_json(path_of(staging) / DRIFT, dict(result.facts))


def told_release(report: PublishedReport, address: str, manifest_sha256: str, log: Logger) -> Deidentified:
    """Log a release, and return what its task returns of it."""
    for line in _summary(report):
        log.info("%s", line)
    metrics = release_metrics(report)
    return {"release": address, "manifest_sha256": manifest_sha256, "metrics": metrics, **metrics}


def _repeats(extracted: Any) -> dict[str, Any]:
    """Return the argument of `engine.run` for what `extract` said of identifying columns, if it said something."""
    found = extracted.get("repeats") if isinstance(extracted, Mapping) else None
    return {"repeats": dict(found)} if isinstance(found, Mapping) else {}


def _failed_checks(problem: VerificationFailed) -> str:
    """Name the failed checks of the verification without their figures, which may be about few records."""
    failed = sorted({finding.check for finding in problem.findings if not finding.holds})
    return f"VerificationFailed: the output was refused, nothing is released: {', '.join(failed) or 'see the log'}"


def _loss(report: PublishedReport, key: Literal["information_loss", "lower_bound"]) -> str:
    """Render a loss; the report has none if it is withheld, or a measure divides by zero."""
    loss = report["solution"][key]
    absent = "withheld" if f"solution.{key}" in report["withheld"] else "infinite"
    return absent if loss is None else f"{loss:g}"


def _proof(report: PublishedReport) -> str:
    solution = report["solution"]
    if "policy" in report:
        return "the best policy of the frontier by the rule" if "choice" in report else "a policy"
    return "proven optimal" if solution["optimal"] else f"lower bound {_loss(report, 'lower_bound')}"


def _records(report: PublishedReport) -> str:
    found = report["suppressed_class"]
    if "classes_of_at_least" in report.get("sample", {}):
        return f"{report['released']} records are released; how many others there are is told by no figure"
    if "below" in found:
        few = f"those of fewer than {found['below']} persons" if "persons" in report else f"fewer than {found['below']}"
        return f"{report['released']} records are released; {few} are left out"
    return f"De-identified {report['rows']} records; {found['records']} of them suppressed"


def _levels(report: PublishedReport) -> str:
    levels = report["solution"]["levels"]
    if levels is None:
        return "Generalization levels: each record has its own (mixed levels)"
    return "Generalization levels: " + ", ".join(f"{name} {level}" for name, level in levels.items())


def _summary(report: PublishedReport) -> list[str]:
    search, risk = report["search"], report["risk"]
    return [
        _records(report),
        _levels(report),
        f"Information loss: {_loss(report, 'information_loss')}, " + _proof(report),
        *(f"Warning: {warning}" for warning in report.get("warnings", ())),
        *(f"Criterion {model['description']}: observed {model['observed']}" for model in report["privacy"]),
        "Risk: " + ", ".join(f"{attack} {risk[attack]:.6f}" for attack in ("prosecutor", "journalist", "marketer")),
        f"Search: {search['algorithm']}, at most {search['checked']} checks in a space of {search['space']}",
    ]
