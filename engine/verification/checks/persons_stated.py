"""What a report says of persons, compared with those of the source: how many, who attacks, and what is withheld."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.message import Count, Message
from engine.verification.checks.balance import withheld_below
from engine.verification.finding import Finding
from engine.verification.tolerance import same_share

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.verification.records.persons import PersonsOfFile


def same_persons(file: PersonsOfFile, job: Job, report: Mapping[str, Any]) -> Finding:
    """Tell whether the output has the records that the source gives, and the report their persons."""
    stated, share = report.get("persons"), report.get("persons_suppressed_share")
    agree = stated is None or stated == file.number
    agree = agree and (share is None or same_share(share, file.persons_without_kept / file.number))
    texts = ["the records are not those of the source at these levels"] if not file.agrees else []
    texts += ["the report gives other numbers of persons"] if not agree else []
    texts += [] if _is_withheld_rightly(file, job, report) else ["the report withholds numbers that are not of few"]
    texts += [] if _same_attacker(job, report) else ["the report assumes another attacker than the job"]
    texts += [] if _same_further_rows(file, report) else ["the report gives another number of further rows"]
    known = Message.of("persons of the source: {persons}", persons=Count(file.number))
    message = Message(known, "".join(f"; {text}" for text in texts))
    return Finding("persons", not texts, None, None, None, message)


def _is_withheld_rightly(file: PersonsOfFile, job: Job, report: Mapping[str, Any]) -> bool:
    """Tell whether the numbers that a report withholds are of few persons, or of few records."""
    left_out = (file.records_out, file.persons_out)
    if withheld_below(report) is not None and not any(_is_few(one, job.minimum_class_size) for one in left_out):
        return False
    if report.get("persons") is not None or report["solution"]["suppressed"] is None or job.series is not None:
        return True
    gone = file.persons_without_kept
    return _is_few(gone, job.minimum_persons) or _is_few(file.number - gone, job.minimum_persons)


def _is_few(number: int, smallest: int) -> bool:
    return 0 < number < smallest


def _same_attacker(job: Job, report: Mapping[str, Any]) -> bool:
    """Tell whether a report names the attacker of the job; those of earlier versions name none, who knows any row."""
    known = {"rows": job.known} if isinstance(job.known, int) else job.known
    return bool(report.get("knows", "any-row") == known)


def _same_further_rows(file: PersonsOfFile, report: Mapping[str, Any]) -> bool:
    stated = report.get("further_rows")
    if file.left_out is None or not isinstance(stated, Mapping):
        return file.left_out is None and stated is None
    if stated.get("left_out") is None:
        return stated.get("share") is None
    if report.get("rows") is None and stated.get("share") is None:
        # a release of an earlier version withholds the share alone where the records of few persons are left out
        return bool(stated["left_out"] == file.left_out)
    share = file.left_out / (file.left_out + file.rows)
    return stated["left_out"] == file.left_out and same_share(stated.get("share"), share)
