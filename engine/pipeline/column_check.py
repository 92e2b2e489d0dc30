"""What is wrong with the values of each column of a source, all at once: missing ones, and those without a hierarchy.

In: a job and its source, which is read once. Out: messages with counts and no value; the values themselves apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.backends.warehouse import Warehouse
from engine.errors import EngineError
from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.entries import ADVICE, without_entry
from engine.hierarchy.hierarchy import Hierarchy
from engine.job.job import Job
from engine.linter.columns import ColumnCounts
from engine.linter.lint import lint_problems
from engine.message import Count, Message
from engine.tables.sources.column_text import as_text
from engine.tables.sources.table import Table

_SHOWN = 20
"""Values of a column that are shown."""


@dataclass(frozen=True)
class ColumnCheck:
    """What is wrong with the columns.

    Attributes
    ----------
    problems : tuple of Message
    records : int
        Records that were read.
    unseen : mapping of column to sequence of str
        Values without a hierarchy entry, the most frequent first, at most 20 of a column: for the eyes of whoever has
        the source, and never for a file or a log.
    """

    problems: tuple[Message, ...]
    records: int
    unseen: Mapping[str, Sequence[str]] = field(repr=False)


def check_columns(job: Job, source: Table, repeats: Mapping[str, bool | None] | None = None) -> ColumnCheck:
    """Look at the values of the job's columns that the source has.

    Parameters
    ----------
    repeats : mapping of column to bool or None, optional
        As of `engine.run`.
    """
    present = set(source.schema.names)
    there = {name: one for name, one in job.attributes.items() if name in present or one.role == "identifying"}
    known = job.model_copy(update={"attributes": there})
    seen = {name: _Values() for name in known.released if _builder(known, name) or there[name].nulls == "error"}
    beside = ColumnCounts(known)
    records = 0
    problems: list[Message] = []
    try:
        if isinstance(source, Warehouse):
            records = _asked(source, seen, beside)
        else:
            for batch in source.batches(list(known.released)):
                records += batch.num_rows
                beside.see(batch)
                for name, values in seen.items():
                    values.see(batch.column(name), name)
    except EngineError as problem:
        return ColumnCheck((problem.message,), records, {})
    if not records:
        problems.append(Message("the table is empty: it has no records, so there is nothing to de-identify"))
    unseen: dict[str, list[str]] = {}
    for name, values in seen.items():
        problems += _missing(known, name, values)
        found, without = _of_hierarchy(known, name, values)
        problems += found
        if without:
            unseen[name] = without
    problems += lint_problems(known, source, beside.own(), repeats, beside.kinds)
    return ColumnCheck(tuple(problems), records, unseen)


def _asked(source: Warehouse, seen: Mapping[str, _Values], beside: ColumnCounts) -> int:
    """Let a warehouse count the values of each column; return how many records there are."""
    for name, values in seen.items():
        for found, counts in source.values(name):
            values.add(found, counts, name)
    beside.ask(source)
    of_any = source.figures(source.schema.names[0], frozenset(), 0)
    return of_any.records + of_any.missing


class _Values:
    """The distinct values of a column, with their records."""

    def __init__(self) -> None:
        self.counts: Counter[str | None] = Counter()

    def see(self, column: pa.Array, name: str) -> None:
        for entry in pc.value_counts(as_text(column, name)).to_pylist():
            self.counts[entry["values"]] += entry["counts"]

    def add(self, values: pa.Array, records: NDArray[np.int64], name: str) -> None:
        for text, count in zip(as_text(values, name).to_pylist(), records.tolist(), strict=True):
            self.counts[text] += count


def _builder(job: Job, name: str) -> HierarchyBuilder | None:
    attribute = job.attributes[name]
    return attribute.hierarchy if attribute.role in {"quasi-identifying", "sensitive"} else None


def _missing(job: Job, name: str, values: _Values) -> Iterator[Message]:
    attribute = job.attributes[name]
    missing = sum(values.counts[text] for text in (None, *attribute.missing))
    if missing and attribute.nulls == "error":
        yield Message.of(
            "column {name!r}: missing values: {missing}; the job says nulls: error; fill them in the source or set "
            "nulls: value",
            name=name,
            missing=Count(missing),
        )


def _of_hierarchy(job: Job, name: str, values: _Values) -> tuple[list[Message], list[str]]:
    """Return what is wrong with a column's hierarchy, and the values that it has no entry for."""
    attribute, builder = job.attributes[name], _builder(job, name)
    if builder is None:
        return [], []
    absent = {None, *attribute.missing}
    counts = {text: records for text, records in values.counts.items() if text is not None and text not in absent}
    texts = sorted(counts)
    try:
        builder.check_column(name, counts)
        rows = builder.rows(texts)
        if rows:
            Hierarchy(name, rows)
    except EngineError as problem:
        return [problem.message], []
    problems = [Message(text) for text in _levels(job, name, builder)]
    entries = {row[0] for row in rows}
    without = [text for text in texts if text not in entries]
    if without and attribute.unseen == "error":
        found = without_entry(name, without, sum(counts[text] for text in without), builder)
        problems.append(Message(found, f"; {ADVICE}"))
    return problems, sorted(without, key=lambda text: -counts[text])[:_SHOWN]


def _levels(job: Job, name: str, builder: HierarchyBuilder) -> Iterator[str]:
    attribute, highest = job.attributes[name], builder.level_count - 1
    for key in ("minimum_level", "maximum_level"):
        level = getattr(attribute, key)
        if level is not None and level > highest:
            yield f"attributes.{name}.{key}: is {level}, the hierarchy ends at {highest}"
