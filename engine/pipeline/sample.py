"""The sample of a run: what the report says of it, and that it has records enough."""

from __future__ import annotations

from engine.errors import InvalidData
from engine.job.job import Job
from engine.message import Count, Message
from engine.pipeline.document import SampleStated


def sample_stated(job: Job) -> SampleStated:
    """Return what a report says of a sample; nothing of a job without."""
    return {} if job.sample is None else {"sample": {"fraction": job.sample.fraction}}


def refuse_small_sample(job: Job, records: int) -> None:
    """Refuse a sample of fewer records than a class must have.

    Raises
    ------
    InvalidData
        Names the key and the fix.
    """
    if job.sample is not None and records < job.minimum_class_size:
        raise InvalidData(
            Message.of(
                "sample.fraction: {records} records were drawn, and a class must have {fewest}; raise the fraction of "
                "{fraction:g}, or leave sample out",
                records=Count(records),
                fewest=job.minimum_class_size,
                fraction=job.sample.fraction,
            )
        )
