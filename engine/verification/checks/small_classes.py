"""Suppression of small classes alone, proven on the source: its classes, at the levels of the release, are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.errors import EngineError
from engine.message import Message
from engine.tables.class_table import ClassTable
from engine.verification.checks.balance import drops
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK
from engine.verification.records.population import read_source

if TYPE_CHECKING:
    from engine.job.job import Job


def check_small_classes(table: ClassTable, job: Job, report: Mapping[str, Any] | None, source: Any) -> Finding | None:
    """Compare the classes of an output with those of the source: all with the size demanded are there, and no other.

    Parameters
    ----------
    source : table, optional
        What was de-identified. Without it only the report tells whether further classes were suppressed.

    Returns
    -------
    Finding or None
        None for a job that may suppress any class, and without a report.
    """
    if job.suppress == "any" or report is None:
        return None
    if report["suppressed_class"].get("joined") != 0:
        return _finding("classes of the size that the models demand were suppressed", holds=False)
    if source is None:
        return _finding("the report names no other suppressed classes; the source was not given", holds=True)
    try:
        people = read_source(job, source)
        classes = people.at(report["solution"]["levels"])
    except EngineError as problem:
        return _finding(Message("the source cannot be counted: ", problem.message), holds=False)
    expected = large_classes(classes, job, "people" if people.listed is None else "released")
    if not drops(job, report):
        expected[(MARK,) * len(job.quasi_identifiers)] += report["suppressed_class"]["records"]
    same = +expected == released_classes(table)
    text = "exactly the classes below the size that the models demand are suppressed"
    return _finding(text if same else f"not {text}", holds=same)


def large_classes(classes: pa.Table, job: Job, counted: str) -> Counter[tuple[str | None, ...]]:
    """Count the records of a source by their labels, in the classes that have as many as the models demand.

    Parameters
    ----------
    classes : pyarrow Table
        As of `Population.at`; `counted` is the column of the numbers.
    """
    width = len(job.quasi_identifiers)
    keys = zip(*(column.to_pylist() for column in classes.columns[:width]), strict=True)
    sizes = classes[counted].to_pylist()
    return Counter({key: size for key, size in zip(keys, sizes, strict=True) if size >= job.minimum_class_size})


def released_classes(table: ClassTable) -> Counter[tuple[str | None, ...]]:
    """Count the records of an output by their labels."""
    keys = zip(*(labels.column().to_pylist() for labels in table.labels.values()), strict=True)
    return Counter(dict(zip(keys, table.records.tolist(), strict=True)))


def _finding(message: str, *, holds: bool) -> Finding:
    return Finding("small-classes", holds=holds, observed=None, required=None, column=None, message=Message(message))
