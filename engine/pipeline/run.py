"""One run: table ▶ codes ▶ frequency table ▶ search ▶ transformation ▶ output ▶ verification ▶ report.

In: a job, and a table where the job's source is not to be read. Out: a `Result`, and a release folder where one is
wanted. A run either leaves a verified release or nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import yaml

from engine.errors import InvalidJob, NoSolution, VerificationFailed
from engine.job.counting import columns_of, count, open_source, problem_of, subset_of
from engine.job.job import Job, load_job
from engine.kernels.warm_up import cache_warnings, warm_up
from engine.message import Count, Message
from engine.pipeline.release import replacing, write_manifest
from engine.pipeline.report import build_report
from engine.search.problem import Problem, Progress, Solution
from engine.search.registry import method as find_method
from engine.tables.source import Table
from engine.tables.subset import ReleasedTable
from engine.tables.transform import Transformation, accounted
from engine.verification import Finding, verify

__all__ = ["Result", "columns_of", "count", "problem_of", "run"]


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
    source = open_source(job, table)
    choice: dict[str, Any] | None = None
    if output is None and job.output is not None:
        output = job.output.path
    if output is not None and "://" in str(output):
        raise InvalidJob(f"output {output}: only folders of this machine can be written here; name a path")
    if job.choose is not None:
        from engine.frontiers.choice import choose  # noqa: PLC0415 (only jobs with a rule need the search for a frontier)

        started = time.perf_counter()
        job, choice = choose(job, source, progress)
        choice["seconds"] = time.perf_counter() - started
    made = _Run(job, source, progress, choice)
    return made.keep() if output is None else made.release(Path(output))


class _Run:
    """The state of one run, filled from left to right."""

    def __init__(
        self, job: Job, source: Table, progress: Progress | None, choice: Mapping[str, Any] | None = None
    ) -> None:
        self._job = job
        self._source = source
        self._subset = subset_of(job, source)
        self._released = source if self._subset is None else ReleasedTable(source, self._subset)
        self._progress = progress
        self._choice = choice
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
        if job.policy is not None:
            report["policy"] = job.policy
        if self._choice is not None:
            report["choice"] = dict(self._choice)
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
        method = find_method(self._job.search.algorithm)
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
            found = Message.joined("; ", (Message(f"{finding.check}: ", finding.message) for finding in failed))
            raise VerificationFailed(Message("the output was refused, nothing is released: ", found), list(findings))
        return findings

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._timings[step] = time.perf_counter() - started


def _no_solution_text(job: Job, records: int, limit: int, *, exact: bool) -> Message:
    models = ", ".join(model.describe() for model in job.privacy)
    within = f" within {job.search.time_limit_seconds:g} seconds" if job.search.time_limit_seconds else ""
    satisfying = f"satisfies {models} while suppressing at most {limit} of them{within}"
    changes = "allow higher maximum_level, a higher suppression_limit or a weaker model"
    if job.policy is not None:
        return Message.of(
            "the policy of the {records} records does not do: no transformation by it {satisfying}; take a policy of "
            "less risk, allow a higher suppression_limit or a weaker model",
            records=Count(records),
            satisfying=satisfying,
        )
    none = Message.of("no transformation of the {records} records", records=Count(records))
    if exact:
        return Message(none, f" {satisfying}; {changes}")
    found = Message(f"search.algorithm {job.search.algorithm} found ", none)
    return Message(found, f" that {satisfying}; use optimal, or {changes}")


def _not_exact_text(job: Job) -> str:
    models = ", ".join(model.describe() for model in job.privacy)
    return (
        f"algorithm {job.search.algorithm} is not exact for {models} with measure {job.utility.measure} and "
        f"suppression_limit {job.suppression_limit:g}: another transformation may lose less; optimal is exact"
    )
