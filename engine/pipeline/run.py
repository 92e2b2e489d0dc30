"""One run: source ▶ codes ▶ frequency table ▶ search ▶ transformation ▶ output ▶ verification ▶ report.

In: a job, and optionally a table in place of the job's source. Out: a `Result` and, if wanted, a release folder. A run
leaves a verified release or nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from engine.backends.backend import Backend
from engine.backends.choose import backend_for
from engine.backends.warehouse import ReleaseRules, ValueLabels, Warehouse
from engine.codebook.codebook import codebook
from engine.codebook.readme import readme
from engine.errors import InvalidData, InvalidJob, NoSolution, VerificationFailed
from engine.frontiers.document import Choice
from engine.job.counting import Counted, count, open_source
from engine.job.job import Job, load_job
from engine.job.keys import RELEASE_KEY_BYTES, Keys, open_keys
from engine.job.problem import problem_of
from engine.kernels.warm_up import cache_warnings, warm_up
from engine.linter.columns import ColumnCounts
from engine.linter.document import Lint
from engine.linter.lint import lint_columns, warnings_of, with_classes
from engine.message import Message
from engine.pipeline.attribute_inference import attribute_inference
from engine.pipeline.document import PublishedReport, Report, Statement
from engine.pipeline.measured import measured_on_file
from engine.pipeline.no_solution import no_solution_text
from engine.pipeline.published import hides_few, published
from engine.pipeline.release import CODEBOOK, README, replacing, write_manifest
from engine.pipeline.replaced import (
    ages_on,
    replaced_stated,
    replaced_warnings,
    with_pseudonyms,
    with_shifted_dates,
)
from engine.pipeline.report import Found, further_rows, statement_of
from engine.pipeline.stopwatch import Stopwatch
from engine.search.problem import Problem, Progress, Solution
from engine.search.registry import method as find_method
from engine.search.suppressed_class import REFUSED, Outcome, is_uninformative, released
from engine.tables.class_table import ClassTable, count_classes
from engine.tables.released import DATA, open_release
from engine.tables.row_cap import KEY_BYTES, CappedTable, capped
from engine.tables.rows_apart import records_of_suppressed
from engine.tables.source import Table
from engine.tables.transform import Places, Transformation, accounted
from engine.verification import Finding, class_table, verify

NOTHING_LEFT = (
    "nothing would be left to tell apart: every quasi-identifier is at its root in all records that would be released; "
    "raise suppression_limit, choose a weaker model, give a hierarchy more levels, take a column out of the "
    "quasi-identifiers, or set allow_empty_information: true to release the table all the same"
)


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
    """

    report: Report
    published: PublishedReport
    findings: list[Finding]
    output: Path | None = None
    manifest_sha256: str | None = None
    _table: pa.Table | None = field(default=None, repr=False)
    _refusal: str | None = field(default=None, repr=False)

    @property
    def table(self) -> pa.Table:
        """The released table; read from the release folder if it was streamed there.

        Raises
        ------
        NoSolution
            There is none: the suppressed records can neither stay nor be left out, or nothing would be left to tell
            apart.
        """
        if self._table is not None:
            return self._table
        if self.report.get("backend") == "sql":
            raise InvalidData("table: the release is in its warehouse, and is not read outside of it")
        if self.output is None:
            raise NoSolution(self._refusal or REFUSED)
        return pa.parquet.read_table(self.output / DATA)


def run(
    job: str | Path | Mapping[str, Any] | Job,
    table: Any = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
    repeats: Mapping[str, bool | None] | None = None,
    rows_key: bytes | None = None,
    keys: Mapping[str, bytes] | None = None,
    release_key: bytes | None = None,
) -> Result:
    """De-identify a table.

    Parameters
    ----------
    job : path, mapping or Job
    table : pyarrow Table or RecordBatchReader, pandas DataFrame, or Warehouse, optional
        Used instead of the job's source. With a `Warehouse` (backend sql) records are neither read nor written here:
        the release is in the warehouse, and its folder has documents alone. Whoever made the warehouse commits it.
    output : path, optional
        Release folder, instead of the job's output path. Without either the output stays in memory.
    progress : callable, optional
        Receives plain figures of the running search from time to time.
    repeats : mapping of column to bool or None, optional
        Of identifying columns that stay in the warehouse: whether several records have the same value; None where it
        is not known.
    rows_key : bytes, optional
        The key that chooses which rows of a person `max_rows` leaves out, 32 bytes, for a later verification; without
        it a random one that is kept nowhere.
    keys : mapping of connection id to bytes, optional
        The keys of pseudonyms and shifted dates that the job names by `key_conn_id`.
    release_key : bytes, optional
        The key of pseudonyms and shifted dates that are others in each release, 32 random bytes, for a later
        verification; without it a random one that is kept nowhere.

    Raises
    ------
    InvalidJob, InvalidData
        The job, a hierarchy or the table is invalid; or, before anything is read, a key of the job is not the one that
        it names.
    NoSolution
        No transformation satisfies the criteria, or none was found within the time limit; or what was found cannot be
        released, because the suppressed records can neither stay nor be left out, or because nothing would be left to
        tell apart. Without a release folder the last one is raised by `Result.table`, so that the report of the search
        can be compared.
    VerificationFailed
        The output does not meet the criteria, by a defect or because the source changed. Nothing is released.
    """
    job = load_job(job)
    used = _Secrets.of(job, rows_key, keys, release_key)
    source = open_source(job, table)
    folder = _folder(job, output)
    job, choice = _chosen(job, source, progress)
    if folder is None:
        with backend_for(job.backend, job.memory_bytes, source=source) as backend:
            made = _make(backend, job, choice, source, repeats, used, progress)
        return Result(made.report, made.published, made.findings, _table=made.table, _refusal=made.refusal)
    with replacing(folder) as fresh:
        # what the backend keeps on disk is gone before the manifest lists the folder
        with backend_for(job.backend, job.memory_bytes, fresh, source) as backend:
            made = _make(backend, job, choice, source, repeats, used, progress, fresh / DATA)
        sha256 = _complete(fresh, job, made)
    return Result(made.report, made.published, made.findings, folder, sha256)


@dataclass(frozen=True)
class _Secrets:
    """The secrets of a run: of the rows that `max_rows` leaves out, of pseudonyms and of shifted dates."""

    rows: bytes = field(repr=False)
    release: bytes = field(repr=False)
    given: Mapping[str, bytes] | None = field(repr=False)
    keys: Keys

    @classmethod
    def of(
        cls, job: Job, rows_key: bytes | None, given: Mapping[str, bytes] | None, release_key: bytes | None
    ) -> _Secrets:
        """Open those of the job, and make those that are not given."""
        release = release_key or secrets.token_bytes(RELEASE_KEY_BYTES)
        return cls(rows_key or secrets.token_bytes(KEY_BYTES), release, given, open_keys(job, given, release))


def _folder(job: Job, output: str | Path | None) -> Path | None:
    """Return the release folder; None if the output stays in memory."""
    if output is None:
        output = None if job.output is None else job.output.path
    if output is not None and "://" in str(output):
        raise InvalidJob(f"output {output}: only folders of this machine can be written here; name a local path")
    return None if output is None else Path(output)


def _chosen(job: Job, source: Table, progress: Progress | None) -> tuple[Job, Choice | None]:
    """Return the job as executed: with the policy that its rule chooses, if it has a rule."""
    if job.choose is None:
        return job, None
    from engine.frontiers.choice import choose  # noqa: PLC0415 (only jobs with a rule need the search for a frontier)

    return choose(job, source, progress)


class _Made(NamedTuple):
    """A verified output; no table where it was written to a file, or, with the reason, must not be released.

    `classes` are those of what was released into a file.
    """

    table: pa.Table | None
    findings: list[Finding]
    report: Report
    published: PublishedReport
    refusal: str | None = None
    classes: ClassTable | None = None


def _make(
    backend: Backend,
    job: Job,
    choice: Choice | None,
    source: Table,
    repeats: Mapping[str, bool | None] | None,
    used: _Secrets,
    progress: Progress | None,
    data: Path | None = None,
) -> _Made:
    """Run all steps once; each step reads the results of earlier steps and changes none of them.

    The output is written to the file `data`, if given.
    """
    warm_up_seconds = warm_up()
    watch = Stopwatch()
    with watch.step("encode"):
        columns = ColumnCounts(job)
        day = ages_on(job)
        shifted = with_shifted_dates(job, source, used.keys, day)
        rows = _capped(job, shifted, used.rows)
        if isinstance(source, Warehouse):
            counted = count(job, source, backend=backend)
            columns.ask(source)
        else:
            counted = count(job, shifted if rows is None else rows, columns, backend)
        lint = lint_columns(job, source, columns.variations(counted.table), repeats, columns.kinds)
    problem = problem_of(job, counted.table)
    with watch.step("search"):
        solution, warnings = _search(job, problem, progress)
        outcome = released(problem, solution, job.prefers)
    refusal = _refusal(job, problem, outcome)
    if refusal is not None and data is not None:
        raise NoSolution(refusal)
    found = Found(outcome, problem.lattice.size, watch.seconds["search"], warm_up_seconds)
    warnings = [*warnings, *([] if refusal is None else [refusal]), *_left_out(job, outcome), *replaced_warnings(job)]
    warnings += cache_warnings()
    with watch.step("report"):
        stated: Statement = {**statement_of(job, counted.table, found, choice, warnings), "backend": backend.name}
        stated = {**stated, **replaced_stated(job, day)}
        if rows is not None:
            stated = {**stated, "further_rows": further_rows(rows.left_out, counted.table.records)}
    if refusal is not None:
        made = _made(job, counted, outcome, {**_with_lint(job, stated, lint), "timings": watch.seconds})
        return made._replace(refusal=refusal)
    with watch.step("transform"):
        table = None
        if isinstance(source, Warehouse):
            _release_inside(job, counted, outcome, source)
        else:
            shown = counted._replace(records=with_pseudonyms(job, counted.records, used.keys))
            table = _transform(job, shown, outcome, backend, data)
    with watch.step("verify"):
        classes = _classes(job, source, data if table is None else table)
        inferred = attribute_inference(classes, job.minimum_class_size)
        stated = {**_with_lint(job, stated, with_classes(job, lint, classes)), "attribute_inference": inferred}
        findings = _verify(job, stated, classes, source, used)
    return _made(job, counted, outcome, {**stated, "timings": watch.seconds})._replace(
        # who reads a table inside a warehouse has no folder in which a codebook would be
        table=table,
        findings=findings,
        classes=None if isinstance(source, Warehouse) else classes,
    )


def _made(job: Job, counted: Counted, outcome: Outcome, report: Report) -> _Made:
    few = hides_few(report, job.minimum_class_size)
    measured = measured_on_file(job, counted.table, outcome) if few else None
    return _Made(None, [], report, published(job, report, measured))


def _with_lint(job: Job, stated: Statement, lint: Lint) -> Statement:
    """Add what the linter found; the texts are among the warnings."""
    warnings = [*stated.get("warnings", []), *warnings_of(job, lint)]
    return {**stated, "lint": lint, "warnings": warnings} if warnings else {**stated, "lint": lint}


def _search(job: Job, problem: Problem, progress: Progress | None) -> tuple[Solution, list[str]]:
    """Return the solution and its warnings for the report."""
    method = find_method(job.search.algorithm)
    solution = method.run(problem, progress)
    exact = method.is_exact(problem)
    if solution is None:
        raise NoSolution(no_solution_text(job, problem, exact=exact))
    return solution, [] if exact or solution.optimal else [_not_exact_text(job)]


def _refusal(job: Job, problem: Problem, outcome: Outcome) -> str | None:
    """Return why what was found must not be released."""
    if outcome.form == "refused":
        return REFUSED
    return None if job.allow_empty_information or not is_uninformative(problem.table, outcome) else NOTHING_LEFT


def _left_out(job: Job, outcome: Outcome) -> list[str]:
    """Return a warning if the file lacks suppressed records that the job wants in it."""
    if outcome.form != "drop" or (job.output is not None and job.output.suppressed == "drop"):
        return []
    if job.suppresses_persons:
        text = (
            "the suppressed persons are left out of the release: with * in every quasi-identifier the number of their "
            "rows would be told"
        )
        return [text]
    text = (
        "the suppressed records are left out of the release: with * in every quasi-identifier they would be an "
        "equivalence class that fails a privacy model of the job"
    )
    return [text]


def _transformation(job: Job, counted: Counted, outcome: Outcome, places: Places | None = None) -> Transformation:
    return Transformation(
        counted.records.schema,
        job.released,
        counted.encoding,
        counted.table,
        outcome.solution.levels,
        outcome.suppressed_tuples,
        drop=outcome.form == "drop",
        pseudonyms=job.pseudonymized,
        left_out=records_of_suppressed(counted.table, outcome.suppressed_tuples),
        places=places,
    )


def _release_inside(job: Job, counted: Counted, outcome: Outcome, source: Warehouse) -> None:
    """Let the warehouse write the output."""
    transformation = _transformation(job, counted, outcome)

    def labels_of(attribute: int, values: pa.Array) -> ValueLabels:
        return ValueLabels(*transformation.coded(attribute, values))

    source.release(
        ReleaseRules(
            job.released,
            {name: partial(labels_of, a) for a, name in enumerate(counted.table.attributes)},
            transformation.suppressed_classes,
            outcome.form == "drop",
            transformation.records,
        )
    )


def _classes(job: Job, source: Table, written: pa.Table | Path | None) -> ClassTable:
    """Count the classes of what was written."""
    if not isinstance(source, Warehouse):
        return class_table(open_release(written), job)
    names = [*job.quasi_identifiers, *job.sensitive]
    lacking = [name for name in names if name not in source.released.names]
    if lacking:
        raise InvalidData(f"release: lacks the columns {', '.join(lacking)}; somebody changed its table; run again")
    count = f"records of {'+'.join(names)}"
    return count_classes(
        source.released, source.classes(names, count), job.quasi_identifiers, job.sensitive, counts=count
    )


def _transform(job: Job, counted: Counted, outcome: Outcome, backend: Backend, data: Path | None) -> pa.Table | None:
    """Write the output to `data`; without a file return it."""
    transformation = _transformation(job, counted, outcome, backend.placed)
    if data is None:
        return pa.Table.from_batches(transformation.apply(counted.records), transformation.schema)
    transformation.write(counted.records, data)
    return None


def _capped(job: Job, source: Table, key: bytes) -> CappedTable | None:
    """Return the rows that stay where the job limits the rows of a person."""
    if job.subject is None or job.max_rows is None:
        return None
    return capped(source, job.subject, job.max_rows, key)


def _verify(job: Job, stated: Statement, classes: ClassTable, source: Table, used: _Secrets) -> list[Finding]:
    drop = stated["suppressed_class"]["form"] == "drop"
    accounted(stated["rows"], stated["suppressed_class"]["records"], classes.rows, drop=drop)
    chosen_by: dict[str, Any] = {} if job.max_rows is None else {"rows_key": used.rows}
    if used.keys.of_place:
        chosen_by |= {"keys": used.given, "release_key": used.release}
    findings = verify(classes, job, stated, source=source, **chosen_by)
    failed = [finding for finding in findings if not finding.holds]
    if failed:
        found = Message.joined("; ", (Message(f"{finding.check}: ", finding.message) for finding in failed))
        raise VerificationFailed(Message("the output was refused, nothing is released: ", found), list(findings))
    return findings


def _complete(folder: Path, job: Job, made: _Made) -> str:
    """Write the documents of a release next to its data; return the SHA-256 of its manifest."""
    (folder / "report.json").write_text(json.dumps(made.published, indent=2, allow_nan=False), encoding="utf-8")
    if made.classes is not None:
        solution, form = made.report["solution"], made.report["suppressed_class"]["form"]
        described = codebook(job, solution["levels"], form, made.classes)
        (folder / CODEBOOK).write_text(json.dumps(described, indent=2, allow_nan=False), encoding="utf-8")
        (folder / README).write_text(readme(described), encoding="utf-8")
    (folder / "job.yaml").write_text(str(job), encoding="utf-8")
    return write_manifest(folder, {"name": job.name})


def _not_exact_text(job: Job) -> str:
    models = ", ".join(model.describe() for model in job.counted_privacy)
    return (
        f"algorithm {job.search.algorithm} is not exact for {models} with measure {job.utility.measure} and "
        f"suppression_limit {job.suppression_limit:g}: another transformation may lose less; optimal is exact"
    )
