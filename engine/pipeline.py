"""One run: table ▶ codes ▶ frequency table ▶ search ▶ transformation ▶ output ▶ verification ▶ report.

In: a job, and a table where the job's source is not to be read. Out: a `Result`, and a release folder where one is
wanted. A run either leaves a verified release or nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import yaml

from engine.columns import Columns, QuasiIdentifier, Sensitive
from engine.encode import Encoding, encode
from engine.errors import InvalidData, InvalidJob, NoSolution, VerificationFailed
from engine.frequency import FrequencyTable
from engine.job import Job, load_job
from engine.lattice.space import Lattice, Levels
from engine.release import replacing, write_manifest
from engine.report import attribute_weights, build_report
from engine.search.algorithm import Problem, Progress, Solution
from engine.search.registry import ALGORITHMS
from engine.subset import ReleasedTable, Subset
from engine.table import Table, open_data, open_path
from engine.transform import Transformation, accounted
from engine.verification import Finding, verify
from engine.warm_up import cache_warnings, warm_up


@dataclass(frozen=True)
class Result:
    """What a run leaves.

    Attributes
    ----------
    report : dict
        The report of the contract; plain data.
    findings : list of Finding
        Of the verification; all hold.
    output : Path or None
        The release folder, if one was written.
    manifest_sha256 : str or None
        SHA-256 of its manifest.
    """

    report: dict[str, Any]
    findings: list[Finding]
    output: Path | None = None
    manifest_sha256: str | None = None
    _table: pa.Table | None = field(default=None, repr=False)

    @property
    def table(self) -> pa.Table:
        """The released table; read from the release folder if it was streamed there."""
        if self._table is not None:
            return self._table
        assert self.output is not None  # noqa: S101 (a result has one or the other)
        return pa.parquet.read_table(self.output / "data.parquet")


def run(
    job: str | Path | Mapping[str, Any] | Job,
    table: Any = None,
    output: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """De-identify a table.

    Parameters
    ----------
    job : path, mapping or Job
    table : pyarrow Table or RecordBatchReader, or pandas DataFrame, optional
        Taken instead of the job's source.
    output : path, optional
        Release folder, instead of the job's output path. Without either the output stays in memory.
    progress : callable, optional
        Receives plain figures of the running search now and then.

    Raises
    ------
    InvalidJob, InvalidData
        The job, a hierarchy or the table is not as it must be.
    NoSolution
        No transformation satisfies the criteria, or none was found within the time limit.
    VerificationFailed
        The output does not hold the criteria: a defect, or the source changed. Nothing is released.
    """
    job = load_job(job)
    source = _open(job, table)
    if output is None and job.output is not None:
        output = job.output.path
    if output is None:
        return _Run(job, source, progress).keep()
    if "://" in str(output):
        raise InvalidJob(f"output {output}: only folders of this machine can be written here; name a path")
    return _Run(job, source, progress).release(Path(output))


def _open(job: Job, table: Any) -> Table:
    if table is not None:
        return _checked(job, open_data(table))
    if job.source is None or job.source.path is None:
        raise InvalidJob("source: names no path; give the table, or run the job where its connection is known")
    return _checked(job, open_path(job.source.path, job.source.delimiter))


def count(job: Job, source: Table, subset: Subset | None = None) -> tuple[Encoding, FrequencyTable]:
    """Make the frequency table of a job's source, and what turns its batches into codes."""
    population = None if job.population is None else _people(job, job.population)
    return encode(source, columns_of(job), subset=subset, population=population)


def problem_of(job: Job, table: FrequencyTable) -> Problem:
    """Return what a job's search is given.

    Raises
    ------
    InvalidJob
        A level is beyond the last of its hierarchy.
    """
    lattice = _lattice(job, table)
    return Problem(
        table,
        lattice,
        job.privacy,
        job.utility.evaluator(table, attribute_weights(job, table.attributes)),
        math.floor(job.suppression_limit * table.records),
        job.search.time_limit_seconds,
        job.search.gap,
        _start(job, table, lattice),
        job.search.threads,
        job.search.memory_megabytes << 20,
    )


def _start(job: Job, table: FrequencyTable, lattice: Lattice) -> Levels | None:
    if job.search.start is None:
        return None
    start = tuple(job.search.start[name] for name in table.attributes)
    for name, level, low, high in zip(table.attributes, start, lattice.low, lattice.high, strict=True):
        if not low <= level <= high:
            raise InvalidJob(f"search.start.{name}: is {level}, allowed are levels {low} to {high}")
    return start


def columns_of(job: Job) -> Columns:
    """Return what a job reads of its source to count it."""
    quasi = {}
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
        quasi[name] = QuasiIdentifier(attribute.hierarchy, frozenset(attribute.missing), attribute.unseen)
    named = dict.fromkeys(model.sensitive_attribute for model in job.privacy)
    counted = {name: job.attributes[name] for name in named if name is not None}
    sensitive = {name: Sensitive(attribute.order, attribute.hierarchy) for name, attribute in counted.items()}
    return Columns(quasi, sensitive, tuple(name for name in job.released if job.attributes[name].nulls == "error"))


def _subset(job: Job, source: Table) -> Subset | None:
    return None if job.subset is None else Subset(source, _beside(job, job.subset), job.subset)


def _people(job: Job, path: str) -> Table:
    population = _beside(job, path)
    missing = sorted(set(job.quasi_identifiers) - set(population.schema.names))
    if missing:
        raise InvalidData(f"population {path}: lacks the quasi-identifying columns {', '.join(map(repr, missing))}")
    return population


def _beside(job: Job, path: str) -> Table:
    """Open a file that a job names beside its source; it is delimited alike."""
    return open_path(path, "," if job.source is None else job.source.delimiter)


def _checked(job: Job, source: Table) -> Table:
    """Compare the columns of a table with those the job names: neither may have one the other lacks.

    An identifying column may be absent: it would not be released.
    """
    present = set(source.schema.names)
    if not present & set(job.attributes):
        # the names found are not given: without a header they are the values of the first record
        raise InvalidData("source: holds none of the job's columns; check that it has a header, and the delimiter")
    unnamed = sorted(present - set(job.attributes))
    if unnamed:
        raise InvalidData(
            f"columns {', '.join(map(repr, unnamed))}: not named in the job; give each a role under attributes "
            "(identifying columns are dropped)"
        )
    missing = sorted(set(job.released) - present)
    if missing:
        raise InvalidData(f"columns {', '.join(map(repr, missing))}: named in the job but not in the source")
    return source


class _Run:
    """The state of one run, filled from left to right."""

    def __init__(self, job: Job, source: Table, progress: Progress | None) -> None:
        self._job = job
        self._source = source
        self._subset = _subset(job, source)
        self._released = source if self._subset is None else ReleasedTable(source, self._subset)
        self._progress = progress
        self._timings: dict[str, float] = {}
        self._warm_up_seconds = 0.0

    def keep(self) -> Result:
        """Leave the output in memory."""
        transformation, report = self._solve()
        with self._timed("transform"):
            table = pa.Table.from_batches(transformation.apply(self._released), transformation.schema)
        findings = self._verify(table, report)
        report["timings"] = dict(self._timings)
        return Result(report, findings, _table=table)

    def release(self, folder: Path) -> Result:
        """Stream the output into a release folder."""
        with replacing(folder) as fresh:
            transformation, report = self._solve()
            data = fresh / "data.parquet"
            with self._timed("transform"):
                transformation.write(self._released, data)
            findings = self._verify(pa.parquet.read_table(data), report)
            report["timings"] = dict(self._timings)
            (fresh / "report.json").write_text(json.dumps(report, indent=2, allow_nan=False), encoding="utf-8")
            (fresh / "job.yaml").write_text(yaml.safe_dump(self._job.document(), sort_keys=False), encoding="utf-8")
            sha256 = write_manifest(fresh, {"name": self._job.name})
        return Result(report, findings, folder, sha256)

    def _solve(self) -> tuple[Transformation, dict[str, Any]]:
        job = self._job
        self._warm_up_seconds = warm_up()
        with self._timed("encode"):
            encoding, table = count(job, self._source, self._subset)
        problem = problem_of(job, table)
        with self._timed("search"):
            solution, warnings = self._search(problem)
        with self._timed("report"):
            report = build_report(job, table, solution, problem.lattice.size, self._timings, self._warm_up_seconds)
        warnings += cache_warnings()
        if warnings:
            report["warnings"] = warnings
        drop = job.output is not None and job.output.suppressed == "drop"
        transformation = Transformation(
            self._source.schema, job.released, encoding, table, solution.levels, solution.suppressed_rows, drop=drop
        )
        return transformation, report

    def _search(self, problem: Problem) -> tuple[Solution, list[str]]:
        """Return the solution, and what a reader of the report must know about it."""
        method = ALGORITHMS[self._job.search.algorithm]()
        solution = method.run(problem, self._progress)
        exact = method.is_exact(problem)
        if solution is None:
            raise NoSolution(_no_solution_text(self._job, problem.table.records, problem.limit, exact=exact))
        return solution, [] if exact or solution.optimal else [_not_exact_text(self._job)]

    def _verify(self, table: pa.Table, report: Mapping[str, Any]) -> list[Finding]:
        with self._timed("verify"):
            drop = self._job.output is not None and self._job.output.suppressed == "drop"
            accounted(report["rows"], report["solution"]["suppressed"], table.num_rows, drop=drop)
            findings = verify(table, self._job, report, source=self._source)
        failed = [finding for finding in findings if not finding.holds]
        if failed:
            text = "; ".join(f"{finding.check}: {finding.message}" for finding in failed)
            raise VerificationFailed(f"the output was refused, nothing is released: {text}", list(findings))
        return findings

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._timings[step] = time.perf_counter() - started


def _lattice(job: Job, table: FrequencyTable) -> Lattice:
    low, high = [], []
    for hierarchy in table.hierarchies:
        attribute = job.attributes[hierarchy.attribute]
        highest = hierarchy.level_count - 1
        for key in ("minimum_level", "maximum_level"):
            level = getattr(attribute, key)
            if level is not None and level > highest:
                raise InvalidJob(f"attributes.{hierarchy.attribute}.{key}: is {level}, the hierarchy ends at {highest}")
        low.append(attribute.minimum_level)
        high.append(highest if attribute.maximum_level is None else attribute.maximum_level)
    return Lattice(tuple(low), tuple(high))


def _no_solution_text(job: Job, records: int, limit: int, *, exact: bool) -> str:
    models = ", ".join(model.describe() for model in job.privacy)
    within = f" within {job.search.time_limit_seconds:g} seconds" if job.search.time_limit_seconds else ""
    satisfying = f"satisfies {models} while suppressing at most {limit} of them{within}"
    changes = "allow higher maximum_level, a higher suppression_limit or a weaker model"
    if exact:
        return f"no transformation of the {records} records {satisfying}; {changes}"
    found = f"search.algorithm {job.search.algorithm} found no transformation of the {records} records"
    return f"{found} that {satisfying}; use optimal, or {changes}"


def _not_exact_text(job: Job) -> str:
    models = ", ".join(model.describe() for model in job.privacy)
    return (
        f"algorithm {job.search.algorithm} is not exact for {models} with measure {job.utility.measure} and "
        f"suppression_limit {job.suppression_limit:g}: another transformation may lose less; optimal is exact"
    )
