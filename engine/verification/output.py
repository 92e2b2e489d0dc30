"""Everything a job demands of an output, checked on the output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.verification.figures import malformed, recount_figures
from engine.verification.finding import Finding
from engine.verification.kept import MARK, kept_records, starred_mask
from engine.verification.recount import recount

if TYPE_CHECKING:
    from engine.job import Job


def verify(table: pa.Table, job: Job, report: Mapping[str, Any] | None = None) -> list[Finding]:
    """Check an output table against its job.

    Parameters
    ----------
    table : pyarrow Table
        What is, or would be, released.
    report : mapping, optional
        The run's report: then the labels must be those of the levels it names, and the figures must be those found.

    Returns
    -------
    list of Finding
        One per criterion, those that hold included. Structure comes first; where it is wrong nothing else can be
        checked.
    """
    columns = _columns(table, job)
    if not columns.holds:
        return [columns]
    findings = [columns, *_schema(table, job)]
    broken = None if report is None else malformed(report, job.quasi_identifiers)
    if broken is not None:
        findings.append(broken)
    if not all(finding.holds for finding in findings):
        return findings
    if report is not None:
        findings.append(_levels(job, report))
    kept = _kept(table, job, report)
    if all(finding.holds for finding in findings):
        findings.extend(_labels(kept, job, report))
    findings.append(_suppression(table, job, report))
    if report is not None:
        findings.append(_rows(table, job, report))
    models = [
        recount(
            table,
            job.quasi_identifiers,
            model,
            attribute=None if model.sensitive_attribute is None else job.attributes[model.sensitive_attribute],
            kept=kept,
        )
        for model in job.privacy
    ]
    findings.extend(models)
    if report is not None and kept.num_rows == report["rows"] - report["solution"]["suppressed"]:
        findings.extend(recount_figures(kept, job.quasi_identifiers, models, report))
    return findings


def _kept(table: pa.Table, job: Job, report: Mapping[str, Any] | None) -> pa.Table:
    """Return the records that are not suppressed.

    Records that are `*` throughout are suppressed, or are one class that was generalized to its root: the report tells.
    Without one, a table of nothing else counts as suppressed where the job allows that all of it is.
    """
    if report is None:
        everything = pc.all(starred_mask(table, job.quasi_identifiers)).as_py() and job.suppression_limit == 1
    else:
        everything = report["solution"]["suppressed"] == report["rows"]
        if report["solution"]["suppressed"] == 0:
            return table
    if everything:
        return table.slice(0, 0)
    return table if _drops(job) else kept_records(table, job.quasi_identifiers)


def _columns(table: pa.Table, job: Job) -> Finding:
    identifying = {name.casefold() for name in job.identifying}
    present = [name for name in table.column_names if name.casefold() in identifying]
    foreign = [name for name in table.column_names if name not in job.released and name not in present]
    missing = [name for name in job.released if name not in table.column_names]
    twice = len(table.column_names) - len(set(table.column_names))
    problems = [
        f"{what}: {', '.join(names)}"
        for what, names in (("identifying", present), ("not released by the job", foreign), ("missing", missing))
        if names
    ] + (["a name stands there twice"] if twice else [])
    return Finding(
        "columns",
        holds=not problems,
        observed=len(table.column_names),
        required=len(job.released),
        column=None,
        message="columns " + ("are those the job releases" if not problems else "; ".join(problems)),
    )


def _schema(table: pa.Table, job: Job) -> Iterator[Finding]:
    for name in job.quasi_identifiers:
        kind = table.schema.field(name).type
        fits = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        yield Finding("schema", fits, None, None, name, f"quasi-identifiers are text; {name!r} is {kind}")


def _levels(job: Job, report: Mapping[str, Any]) -> Finding:
    solution = report.get("solution") or {}
    levels = solution.get("levels") or {}
    wrong = [name for name in job.quasi_identifiers if not _allowed(job, name, levels.get(name))]
    message = "levels are within the job's limits" if not wrong else f"levels outside the job's limits: {wrong}"
    return Finding("levels", not wrong, None, None, None, message)


def _allowed(job: Job, name: str, level: Any) -> bool:
    return isinstance(level, int) and level in _range(job, name)


def _range(job: Job, name: str) -> range:
    attribute = job.attributes[name]
    assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
    highest = attribute.hierarchy.level_count - 1
    if attribute.maximum_level is not None:
        highest = min(highest, attribute.maximum_level)
    return range(attribute.minimum_level, highest + 1)


def _labels(kept: pa.Table, job: Job, report: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Every kept value is a label of its column's level; nulls are labels where the job allows them."""
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
        levels = _range(job, name) if report is None else [report["solution"]["levels"][name]]
        values = pc.unique(kept[name]).to_pylist()
        wrong = sum(
            attribute.nulls == "error"
            if value is None
            else not any(attribute.hierarchy.is_label(value, level) for level in levels)
            for value in values
        )
        message = f"{wrong} distinct values are no labels of the chosen level"
        yield Finding("labels", wrong == 0, wrong, 0, name, message)


def _suppression(table: pa.Table, job: Job, report: Mapping[str, Any] | None) -> Finding:
    """Count suppressed records; the report must agree.

    Where a kept record can be `*` throughout as well, the output cannot tell the two apart: then there must be at least
    as many as the report says are suppressed.
    """
    starred = pc.sum(starred_mask(table, job.quasi_identifiers)).as_py() or 0
    if report is None:
        return _within_limit(0 if starred == table.num_rows else starred, table.num_rows, job, agrees=True)
    suppressed = report["solution"]["suppressed"]
    marked = 0 if _drops(job) else suppressed
    agrees = starred == marked or (starred > marked and _root_reachable(job, report))
    return _within_limit(suppressed if agrees else starred, report["rows"], job, agrees=agrees)


def _within_limit(suppressed: int, records: int, job: Job, *, agrees: bool) -> Finding:
    allowed = math.floor(job.suppression_limit * records)
    contradiction = "" if agrees else "; the report gives another number"
    return Finding(
        "suppression-limit",
        holds=suppressed <= allowed and agrees,
        observed=suppressed,
        required=allowed,
        column=None,
        message=f"{suppressed} of {records} records are suppressed, {allowed} may be{contradiction}",
    )


def _drops(job: Job) -> bool:
    return job.output is not None and job.output.suppressed == "drop"


def _root_reachable(job: Job, report: Mapping[str, Any]) -> bool:
    for name, level in report["solution"]["levels"].items():
        hierarchy = job.attributes[name].hierarchy
        if hierarchy is None or not _allowed(job, name, level) or not hierarchy.is_label(MARK, level):
            return False
    return True


def _rows(table: pa.Table, job: Job, report: Mapping[str, Any]) -> Finding:
    dropped = report["solution"]["suppressed"] if _drops(job) else 0
    expected = report["rows"] - dropped
    message = f"{table.num_rows} rows, {expected} are accounted for"
    return Finding("rows", table.num_rows == expected, table.num_rows, expected, None, message)
