"""The sample of a run: its records, what the report says of it, and that it has records enough.

Of a differentially private job, the sample is what has to be counted at all: the records that are drawn and whose class
has enough of them. All later steps know no others.
"""

from __future__ import annotations

from engine.errors import InvalidData, NoSolution
from engine.job.counting import columns_of
from engine.job.differential_privacy import level_ranges
from engine.job.job import Job
from engine.message import Count, Message
from engine.pipeline.document import ReportedSample, SampleStated
from engine.tables.altered.sampled import SampledTable
from engine.tables.counting.large_classes import LargeClasses
from engine.tables.sources.source import known_rows
from engine.tables.sources.table import Table


def sampled(job: Job, source: Table, key: bytes) -> Table:
    """Return the records of a source that may be released; all of them for a job without a sample.

    Raises
    ------
    InvalidJob
        A differentially private job has a level that its hierarchy does not allow; nothing was read.
    InvalidData
        Fewer records were drawn than a class must have, of a source that tells how many it has before it is read.
    NoSolution
        No class of such a job has enough records, or a column would tell nothing. Both follow from what would be
        released alone: nobody can tell whether there were other records, or none.
    """
    if job.sample is None:
        return source
    if not job.is_private:
        drawn, rows = SampledTable(source, job.sample.fraction, key), known_rows(source)
        if rows is not None:
            refuse_small_sample(job, drawn.drawn_of(rows))
        return drawn
    levels = {name: levels[0] for name, levels in level_ranges(job).items()}
    columns = columns_of(job, source.schema).quasi_identifiers
    least = job.minimum_class_size
    large = LargeClasses(SampledTable(source, job.sample.fraction, key), columns, levels, least)
    if not large.records:
        raise NoSolution(
            f"differential-privacy: no class has the {least} records of the sample that epsilon and delta demand, so "
            "there is nothing to release; choose higher levels, a larger epsilon or delta, or leave columns out"
        )
    if large.blank:
        raise NoSolution(
            f"differential-privacy: {', '.join(map(repr, large.blank))} would tell nothing, since no record that would "
            "be released has a value with an entry in the hierarchy; correct the hierarchy, or give the column the "
            "role identifying"
        )
    return large


def sample_stated(job: Job) -> SampleStated:
    """Return what a report says of a sample; nothing of a job without."""
    if job.sample is None:
        return {}
    stated: ReportedSample = {"fraction": job.sample.fraction}
    return {"sample": {**stated, "classes_of_at_least": job.minimum_class_size} if job.is_private else stated}


def sample_warnings(job: Job) -> list[str]:
    """Say what a reader of a differentially private release must know; the text is the same for each of a job."""
    if not job.is_private:
        return []
    text = (
        "differential privacy is of this release and of single records: each further release of the same records adds "
        "its epsilon and delta, and each further record of a person adds as much or more; how many records were not "
        "drawn, or were in smaller classes, is told by no figure"
    )
    return [text]


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
                "sample.fraction: records that were drawn: {records}, and a class must have {fewest}; raise the "
                "fraction of {fraction:g}, or leave sample out",
                records=Count(records),
                fewest=job.minimum_class_size,
                fraction=job.sample.fraction,
            )
        )
