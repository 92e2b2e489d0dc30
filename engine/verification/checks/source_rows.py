"""The records of a release that counts records, compared with those of the source that is given beside it.

The file alone does not tell how many records were left out of it, and the report of that number is all there is. Of a
job that counts persons `persons` compares more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from engine.errors import EngineError, InvalidData
from engine.message import Count, Message
from engine.tables.class_table import ClassTable
from engine.verification.checks.balance import drops, withheld_below
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK
from engine.verification.records.population import open_source_of
from engine.verification.records.source_records import cells_of
from engine.verification.records.source_texts import source_texts

if TYPE_CHECKING:
    from engine.job.job import Job


def check_source_rows(table: ClassTable, job: Job, report: Mapping[str, Any]) -> Finding | None:
    """Compare the number of records of the job's source with the report, and each class of the output with its own.

    Returns
    -------
    Finding or None
        None where other records are counted than all of the source: those of persons, of a subset, of a sample, or of
        a series.
    """
    if job.subject is not None or job.subset is not None or job.sample is not None or job.series is not None:
        return None
    try:
        records = _read(job)
        levels = report["solution"]["levels"]
        quarantined = bool(report.get("drift", {}).get("quarantined"))
        same = levels is None or _has_same_classes(records, table, job, levels, or_fewer=quarantined)
    except EngineError as problem:
        return Finding("source", False, None, None, None, Message("it cannot be counted: ", problem.message))
    below, released = withheld_below(report), table.rows
    if below is None:
        gone = report["suppressed_class"]["records"] if drops(job, report) else 0
        agree = records.num_rows == report["rows"] == released + gone
    else:
        agree = 0 < records.num_rows - released < below
    known = Message.of("it has {rows} records", rows=Count(records.num_rows))
    texts = [] if agree else ["the report does not account for all of them"]
    texts += [] if same else ["classes of the release have others of them"]
    return Finding("source", not texts, None, None, None, Message(known, "".join(f"; {text}" for text in texts)))


def _read(job: Job) -> pa.Table:
    source = open_source_of(job, None)
    names = list(job.quasi_identifiers)
    if not set(names) <= set(source.schema.names):
        raise InvalidData("it lacks quasi-identifying columns; give the one that was de-identified")
    return source_texts(source, names)


def _has_same_classes(
    records: pa.Table, table: ClassTable, job: Job, levels: Mapping[str, int], *, or_fewer: bool
) -> bool:
    """Tell whether each class of the output has as many records as the source has with its labels.

    What is `*` throughout may be suppressed, or not, and is left to the number of all records. Where new values are
    quarantined a class has fewer: which values are new only the private facts of the job tell.
    """
    own, classes, _, refused = cells_of(records, table, job, levels)
    there = np.bincount(own[~refused], minlength=int(classes.max(initial=-1)) + 1)[classes]
    as_many = there >= table.records if or_fewer else there == table.records
    return bool((table.having(MARK) | as_many).all())
