"""The sample of a job: that the report says how it was drawn, and, with the key, how many records it has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.records.population import open_source_of

if TYPE_CHECKING:
    from engine.job.job import Job


def check_sample(job: Job, report: Mapping[str, Any] | None, source: Any, rows_key: bytes | None) -> Iterator[Finding]:
    """Compare the statement with the job, and the number of records with those of the source that the key draws.

    Parameters
    ----------
    source : Table, or anything else that can be run, or None
        None stands for the job's source file.
    rows_key : bytes or None
        Without it nobody knows which records were drawn, and how many.
    """
    if job.sample is None or report is None:
        return
    if report.get("sample") != {"fraction": job.sample.fraction}:
        text = "the report does not say that the table is the sample of the job"
        yield Finding("sample", False, None, None, None, Message(text))
        return
    if rows_key is None or report["rows"] is None:
        text = "the report says of which fraction; how many records the key draws is not counted"
        yield Finding("sample", True, None, None, None, Message(text))
        return
    try:
        drawn = _drawn(job, source, rows_key)
    except EngineError as problem:
        yield Finding("sample", False, None, None, None, problem.message)
        return
    message = Message.of("{drawn} records are drawn by the key", drawn=Count(drawn))
    yield Finding("sample", drawn == report["rows"], drawn, report["rows"], None, message)


def _drawn(job: Job, source: Any, key: bytes) -> int:
    assert job.sample is not None  # noqa: S101 (the caller asks only for such a job)
    names = list(job.quasi_identifiers[:1])
    rows = sum(batch.num_rows for batch in open_source_of(job, source).batches(names))
    least = int(job.sample.fraction * 2**64)
    hashes = (hashlib.blake2b(place.to_bytes(8, "big"), key=key, digest_size=8).digest() for place in range(rows))
    return sum(int.from_bytes(found, "big") < least for found in hashes)
