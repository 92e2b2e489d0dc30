"""Suppression of small classes alone, proven on the source: its classes, at the levels of the release, are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.errors import EngineError
from engine.message import Message
from engine.verification.checks.balance import drops
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK
from engine.verification.records.population import read_source

if TYPE_CHECKING:
    from engine.job.job import Job


def check_small_classes(table: pa.Table, job: Job, report: Mapping[str, Any] | None, source: Any) -> Finding | None:
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
    width = len(job.quasi_identifiers)
    sizes = classes["people" if people.listed is None else "released"].to_pylist()
    keys = zip(*(column.to_pylist() for column in classes.columns[:width]), strict=True)
    expected = Counter({key: size for key, size in zip(keys, sizes, strict=True) if size >= job.minimum_class_size})
    if not drops(job, report):
        expected[(MARK,) * width] += report["suppressed_class"]["records"]
    same = +expected == _released(table, job.quasi_identifiers)
    text = "exactly the classes below the size that the models demand are suppressed"
    return _finding(text if same else f"not {text}", holds=same)


def _released(table: pa.Table, quasi_identifiers: tuple[str, ...]) -> Counter[tuple[str | None, ...]]:
    # columns are numbered: a quasi-identifier may have any name, even that of a count
    names = [str(place) for place in range(len(quasi_identifiers))]
    plain = pa.Table.from_arrays([table[name].cast(pa.string()) for name in quasi_identifiers], names=names)
    counted = plain.group_by(names).aggregate([([], "count_all")])
    keys = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return Counter(dict(zip(keys, counted["count_all"].to_pylist(), strict=True)))


def _finding(message: str, *, holds: bool) -> Finding:
    return Finding("small-classes", holds=holds, observed=None, required=None, column=None, message=Message(message))
