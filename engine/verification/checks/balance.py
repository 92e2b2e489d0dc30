"""The balance of an output: suppressed records within the limit, and every record accounted for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.message import Count, Message
from engine.tables.class_table import ClassTable
from engine.verification.checks.labels import is_root_reachable
from engine.verification.finding import Finding
from engine.verification.records.kept import starred_records

if TYPE_CHECKING:
    from engine.job.job import Job


def drops(job: Job, report: Mapping[str, Any] | None) -> bool:
    """Tell whether suppressed records are left out of the output: the report says so; without one, the job."""
    if report is None:
        return job.output is not None and job.output.suppressed == "drop"
    return bool(report["suppressed_class"]["form"] == "drop")


def withheld_below(report: Mapping[str, Any]) -> int | None:
    """Return the bound of the number of records that were left out, if a published report withholds it."""
    below: int | None = report["suppressed_class"].get("below")
    return below


def check_suppression(table: ClassTable, job: Job, report: Mapping[str, Any] | None) -> Finding:
    """Count suppressed records; the report must agree.

    If a kept record can be `*` throughout too, the output does not distinguish the two: then there must be at least as
    many as the report says are suppressed.
    """
    starred = starred_records(table)
    if report is None:
        return _within_limit(0 if starred == table.rows else starred, table.rows, job, agrees=True)
    below = withheld_below(report)
    if below is not None:
        return _few_left_out(job, below, table.rows, starred, is_root_reachable(job, report["solution"]["levels"]))
    suppressed = report["suppressed_class"]["records"]
    marked = 0 if drops(job, report) else suppressed
    agrees = starred == marked or (starred > marked and is_root_reachable(job, report["solution"]["levels"]))
    if drops(job, None) and not drops(job, report):
        agrees = agrees and suppressed == 0
    return _within_limit(suppressed if agrees else starred, report["rows"], job, agrees=agrees)


def _few_left_out(job: Job, below: int, released: int, starred: int, root: bool) -> Finding:
    """Judge a number that is withheld: it is from 1 to `below` - 1, and one of these must be within the limit.

    Where persons are counted it is that of the records of so many persons, which the second judge holds to the limit.
    """
    most = min(below - 1, math.floor(job.suppression_limit * (released + below - 1)))
    if job.subject is not None:
        most = math.ceil(job.suppression_limit)
    return Finding(
        "suppression-limit",
        holds=most > 0 and 1 < below <= job.minimum_class_size and (not starred or root),
        observed=None,
        required=None,
        column=None,
        message=Message(
            f"{'records of ' if job.subject is not None else ''}fewer than {below} "
            f"{'persons' if job.subject is not None else 'records'} were left out; how many is withheld"
        ),
    )


def _within_limit(suppressed: int, records: int, job: Job, *, agrees: bool) -> Finding:
    allowed = math.floor(job.suppression_limit * records)
    return Finding(
        "suppression-limit",
        holds=suppressed <= allowed and agrees,
        observed=suppressed,
        required=allowed,
        column=None,
        message=Message.of(
            "suppressed records: {suppressed} of {records}, allowed: {allowed}{contradiction}",
            suppressed=Count(suppressed),
            records=Count(records),
            allowed=allowed,
            contradiction="" if agrees else "; the report gives another number",
        ),
    )


def check_rows(table: ClassTable, job: Job, report: Mapping[str, Any] | None, listed: int | None) -> Finding | None:
    """Count the rows: their number must be that of the report and, if a research subset is released, of the subset.

    Parameters
    ----------
    listed : int, optional
        Rows of the subset's file.

    Returns
    -------
    Finding or None
        None without a report: then it is not known how many records were left out.
    """
    if report is None:
        return None
    if withheld_below(report) is not None:
        return _released_rows(table, report, listed)
    stated: int = report["rows"]
    dropped = report["suppressed_class"]["records"] if drops(job, report) else 0
    expected = (stated if listed is None else listed) - dropped
    message = Message.of("rows: {rows}, accounted for: {expected}", rows=Count(table.rows), expected=Count(expected))
    if listed is not None and stated != listed:
        counts = {"listed": Count(listed), "stated": Count(stated)}
        differ = Message.of("; records that the subset lists: {listed}, that the report counts: {stated}", **counts)
        message = Message(message, differ)
    holds = table.rows == expected and listed in {None, stated}
    # reports of earlier versions do not give it
    released = report.get("released", table.rows)
    if type(released) is not int or released != table.rows:
        message, holds = Message(message, "; the report gives another number of records of the file"), False
    return Finding("rows", holds, table.rows, expected, None, message)


def _released_rows(table: ClassTable, report: Mapping[str, Any], listed: int | None) -> Finding:
    """Compare the rows with those that a report gives which withholds how few records were left out."""
    below, released = report["suppressed_class"]["below"], report["released"]
    gone = None if listed is None else listed - table.rows
    holds = table.rows == released and (gone is None or 0 < gone < below)
    message = Message.of("rows: {rows}, accounted for: {released}", rows=Count(table.rows), released=Count(released))
    return Finding("rows", holds, table.rows, released, None, message)
