"""Whether an output tells anything apart: a table in which every label is `*` is refused unless the job allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.message import Message
from engine.tables.class_table import ClassTable
from engine.tables.sources.linked_name import TABLE
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK

if TYPE_CHECKING:
    from engine.job.job import Job


def check_information(table: ClassTable, job: Job) -> Finding | None:
    """Judge whether some record has a label other than `*`; None for a job that allows that none has.

    Parameters
    ----------
    table : ClassTable
        All classes of the output, that of the suppressed records included.
    """
    if job.allow_empty_information:
        return None
    left = bool((~table.having(MARK)).any()) if job.tables is None else _tells_apart(table)
    text = "some records are told apart" if left else "nothing is left to tell apart: every record is * throughout"
    return Finding("information", left, None, None, None, Message(text))


def _tells_apart(table: ClassTable) -> bool:
    """Tell whether a record of linked tables has a label other than `*`, in a column that its table has."""
    # a column that a table lacks is missing, and a missing value of one that it has is told apart in other records
    labels = (one.present() for name, one in table.labels.items() if name != TABLE)
    return any(label not in {MARK, None} for found in labels for label in found)
