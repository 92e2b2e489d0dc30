"""The sample of a job: that the report says how it was drawn, and, with the key, what it has.

Of a differentially private job, each class of the records that the key draws must be in the output whole if it has the
size that is demanded, and no other may be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.message import Count, Message
from engine.tables.class_table import ClassTable
from engine.verification.checks.small_classes import large_classes, released_classes
from engine.verification.finding import Finding
from engine.verification.records.drawn import Drawn
from engine.verification.records.population import read_source

if TYPE_CHECKING:
    from engine.job.job import Job


def check_sample(
    table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any, rows_key: bytes | None
) -> Iterator[Finding]:
    """Compare the statement with the job, and the records with those of the source that the key draws.

    Parameters
    ----------
    source : Table, or anything else that can be run, or None
        None stands for the job's source file.
    rows_key : bytes or None
        Without it nobody knows which records were drawn, and how many.
    """
    if job.sample is None or report is None:
        return
    if report.get("sample") != _stated(job):
        text = "the report does not say that the table is the sample of the job"
        yield Finding("sample", False, None, None, None, Message(text))
        return
    if rows_key is None or report["rows"] is None:
        text = "the report says of which fraction; how many records the key draws is not counted"
        yield Finding("sample", True, None, None, None, Message(text))
        return
    try:
        if job.is_private:
            yield _classes(table, job, report, source, rows_key)
        else:
            yield _number(job, report, source, rows_key)
    except EngineError as problem:
        yield Finding("sample", False, None, None, None, problem.message)


def _stated(job: Job) -> dict[str, Any]:
    assert job.sample is not None  # noqa: S101 (the caller asks only for such a job)
    own = {"classes_of_at_least": job.minimum_class_size} if job.is_private else {}
    return {"fraction": job.sample.fraction, **own}


def _number(job: Job, report: Mapping[str, Any], source: Any, key: bytes) -> Finding:
    names = list(job.quasi_identifiers[:1])
    drawn = sum(batch.num_rows for batch in Drawn(job, source, key).batches(names))
    message = Message.of("records that the key draws: {drawn}", drawn=Count(drawn))
    return Finding("sample", drawn == report["rows"], drawn, report["rows"], None, message)


def _classes(table: ClassTable, job: Job, report: Mapping[str, Any], source: Any, key: bytes) -> Finding:
    drawn = read_source(job, Drawn(job, source, key)).at(report["solution"]["levels"])
    same = large_classes(drawn, job, "people") == released_classes(table)
    text = "exactly the classes of the size demanded, of the records that the key draws, are released whole"
    return Finding("sample", same, None, None, None, Message(text if same else f"not {text}"))
