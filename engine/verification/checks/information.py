"""Whether an output tells anything apart: a table in which every label is `*` is refused unless the job allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.message import Message
from engine.tables.class_table import ClassTable
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
    left = bool((~table.having(MARK)).any())
    text = "some records are told apart" if left else "nothing is left to tell apart: every record is * throughout"
    return Finding("information", left, None, None, None, Message(text))
