"""The class table of a release: its equivalence classes with their numbers of records, and their sensitive values.

In: the released columns, batch by batch, from a file or from memory. Out: one row per distinct tuple of labels and, for
each sensitive column, one per class and distinct value. Memory holds these rows and one batch: it grows with the
distinct tuples, not with the records. Everything that is said of a release after it is written is computed from this.

Nothing is used of the code that counts the source: what the release holds is found in the release alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.arrow_arrays import filled, flags_of, numbers_of, of_numbers, of_texts
from engine.errors import InvalidData
from engine.memory import refuse_beyond
from engine.message import Count, Message
from engine.tables.sources.column_text import as_text

WAITING = 1 << 20
"""Rows of tables of batches that wait until they are added up; more where there are more distinct tuples."""

_ENTRY = 48
"""Bytes of a distinct text in a hash table, beside the text."""
_KEY = 80
"""Bytes of a row while keys of rows are numbered."""
_CODE = 4
"""Bytes of a label of a class."""
_NAMED = 3
"""Columns that an error names."""
_FIX = Message(
    "raise memory_limit, make sensitive values coarser in the source, or let fewer columns be sensitive; the release "
    "was not verified, so there is none"
)


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of n texts, each a code of one of V distinct ones.

    Attributes
    ----------
    distinct : pyarrow string Array, shape (V,)
        A missing value is one of them.
    codes : int32, shape (n,)
    """

    distinct: pa.Array
    codes: NDArray[np.int32]

    def column(self) -> pa.Array:
        """Return the texts, shape (n,)."""
        return self.distinct.take(of_numbers(self.codes))

    def present(self) -> list[str | None]:
        """Return the distinct texts that occur."""
        found: list[str | None] = self.distinct.take(of_numbers(np.unique(self.codes))).to_pylist()
        return found

    def missing(self) -> NDArray[np.bool_]:
        """Return which of them are missing, shape (n,)."""
        return flags_of(self.distinct.is_null())[self.codes]

    def at(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Texts:
        """Return some of the rows."""
        return Texts(self.distinct, self.codes[rows])


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """The values of a sensitive column in each class: P pairs of a class and a value, each once.

    Attributes
    ----------
    kind : pyarrow DataType
        Type of the column in the release.
    has_text : bool
        Whether values of this type have a text form; where not, those here only tell which records are alike.
    classes : int64, shape (P,)
        Number of the class, ascending.
    values : Texts, shape (P,)
    records : int64, shape (P,)
    """

    kind: pa.DataType
    has_text: bool
    classes: NDArray[np.int64]
    values: Texts
    records: NDArray[np.int64]

    def without(self, texts: Iterable[str]) -> SensitiveValues:
        """Return the same with some texts read as missing values."""
        wanted = of_texts(sorted(texts))
        if not len(wanted):
            return self
        absent = pc.is_in(self.values.distinct, value_set=wanted)
        values = _recoded(self.values, pc.if_else(absent, pa.nulls(1, pa.string())[0], self.values.distinct))
        return _summed(replace(self, values=values))


@dataclass(frozen=True, eq=False)
class ClassTable:
    """C equivalence classes of a release.

    Attributes
    ----------
    schema : pyarrow Schema
        Of the release, all columns.
    labels : mapping of quasi-identifier to Texts, shape (C,)
    records : int64, shape (C,)
        Records of each class, at least 1.
    sensitive : mapping of column to SensitiveValues
    replaced : mapping of column to SensitiveValues
        The same of pseudonyms, of shifted dates, coded numbers and perturbed values that are not sensitive, of
        aggregates of classes, and of the means of groups; only of a whole release.
    """

    schema: pa.Schema
    labels: Mapping[str, Texts]
    records: NDArray[np.int64]
    sensitive: Mapping[str, SensitiveValues]
    replaced: Mapping[str, SensitiveValues] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Records of the release."""
        return int(self.records.sum())

    def having(self, text: str) -> NDArray[np.bool_]:
        """Tell the classes all of whose labels are a text, bool, shape (C,)."""
        found = np.ones(self.records.size, np.bool_)
        for labels in self.labels.values():
            found &= flags_of(pc.is_in(labels.distinct, value_set=of_texts([text])))[labels.codes]
        return found

    def where(self, wanted: NDArray[np.bool_]) -> ClassTable:
        """Return some of the classes, bool, shape (C,)."""
        number = np.cumsum(wanted) - 1
        sensitive = {}
        for name, found in self.sensitive.items():
            kept = wanted[found.classes]
            sensitive[name] = replace(
                found,
                classes=number[found.classes[kept]],
                values=found.values.at(kept),
                records=found.records[kept],
            )
        labels = {name: texts.at(wanted) for name, texts in self.labels.items()}
        return ClassTable(self.schema, labels, self.records[wanted], sensitive)


def count_classes(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    counts: str | None = None,
    memory: int | None = None,
) -> ClassTable:
    """Count the classes of a release.

    Parameters
    ----------
    schema : pyarrow Schema
        Of the whole release.
    batches : iterable of RecordBatch
        They have at least the columns named here; columns may be dictionary-encoded, whatever the schema says.
    counts : str, optional
        Column that says how many records a row stands for; without it each row is one.
    memory : int, optional
        Bytes that the process may use.

    Raises
    ------
    InvalidJob
        There are more classes, or distinct sensitive values in them, than fit into the memory.
    InvalidData
        A quasi-identifier has a type without a text form.
    """
    merged = _of_batch(schema, _empty(schema), quasi_identifiers, sensitive, None)
    waiting: list[ClassTable] = []
    growth = _growth(merged)
    for batch in batches:
        waiting.append(_of_batch(schema, batch, quasi_identifiers, sensitive, counts))
        growth += _growth(waiting[-1])
        if memory is not None:
            refuse_beyond(memory, growth, _many([merged, *waiting]), _FIX)
        if sum(map(_size, waiting)) > max(WAITING, _size(merged)):
            merged, waiting = _added([merged, *waiting]), []
            growth = _growth(merged)
    return _added([merged, *waiting]) if waiting else merged


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def _size(table: ClassTable) -> int:
    return int(table.records.size) + sum(found.records.size for found in table.sensitive.values())


def _of_batch(
    schema: pa.Schema,
    batch: pa.RecordBatch,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    counts: str | None,
) -> ClassTable:
    records = np.ones(batch.num_rows, np.int64)
    if counts is not None:
        records = numbers_of(batch.column(counts).cast(pa.int64()))
    columns = {name: _texts(batch.column(name), name) for name in quasi_identifiers}
    group, first = _groups(list(columns.values()), batch.num_rows)
    values = {}
    for name in sensitive:
        column, has_text = _any_texts(batch.column(name), name)
        pairs = SensitiveValues(schema.field(name).type, has_text, group, column, records)
        values[name] = _summed(pairs)
    labels = {name: texts.at(first) for name, texts in columns.items()}
    return ClassTable(schema, labels, _totals(group, records, first.size), values)


def _growth(table: ClassTable) -> int:
    """Return the bytes that it takes to add up a table with others, beyond itself."""
    columns = [*table.labels.values(), *(found.values for found in table.sensitive.values())]
    # beside each other, in a hash table, and as they come out of it
    texts: int = sum(3 * column.distinct.nbytes + _ENTRY * len(column.distinct) for column in columns)
    return texts + _KEY * _size(table) + _CODE * table.records.size * len(table.labels)


def _many(tables: Sequence[ClassTable]) -> Message:
    """Say how many rows there are to add up, and which columns have most values."""
    widths: dict[str, int] = {}
    for table in tables:
        columns = [*table.labels.items(), *((name, found.values) for name, found in table.sensitive.items())]
        for name, column in columns:
            widths[name] = max(widths.get(name, 0), len(column.distinct))
    most = sorted(widths, key=lambda name: -widths[name])[:_NAMED]
    return Message.of(
        "so far the release has {n} combinations of labels, and of labels with values of sensitive columns, and the "
        "columns with most of them are {columns}",
        n=Count(max(map(_size, tables))),
        columns=", ".join(map(repr, most)),
    )


def _added(tables: Sequence[ClassTable]) -> ClassTable:
    """Add up tables of parts of one release."""
    columns = {name: _joined([table.labels[name] for table in tables]) for name in tables[0].labels}
    records = np.concatenate([table.records for table in tables])
    group, first = _groups(list(columns.values()), records.size)
    starts = np.cumsum([0, *(table.records.size for table in tables)])
    sensitive = {}
    for name in tables[0].sensitive:
        parts = [table.sensitive[name] for table in tables]
        numbers = [group[start + part.classes] for start, part in zip(starts, parts, strict=False)]
        pairs = SensitiveValues(
            parts[0].kind,
            all(part.has_text for part in parts),
            np.concatenate(numbers),
            _joined([part.values for part in parts]),
            np.concatenate([part.records for part in parts]),
        )
        sensitive[name] = _summed(pairs)
    labels = {name: texts.at(first) for name, texts in columns.items()}
    return ClassTable(tables[0].schema, labels, _totals(group, records, first.size), sensitive)


def _summed(pairs: SensitiveValues) -> SensitiveValues:
    """Return every pair of a class and a value once, with the sum of its records, in the order of the classes."""
    width = max(1, len(pairs.values.distinct))
    keys = of_numbers(pairs.classes * width + pairs.values.codes).dictionary_encode()
    found = numbers_of(keys.dictionary)
    records = _totals(numbers_of(keys.indices).astype(np.int64), pairs.records, found.size)
    order = np.argsort(found)
    found = found[order]
    values = Texts(pairs.values.distinct, (found % width).astype(np.int32))
    return replace(pairs, classes=found // width, values=values, records=records[order])


def _groups(columns: Sequence[Texts], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each distinct tuple of columns a number.

    Returns
    -------
    group : int64, shape (rows,)
        Number of the tuple of each row, from 0, in the order in which they first occur.
    first : int64, shape (groups,)
        One row of each tuple.
    """
    group, number = np.zeros(rows, np.int64), 1
    for column in columns:
        width = max(1, len(column.distinct))
        if number * width >= 1 << 62:
            group, number = _renumbered(group)
        # the keys of the tuples so far and of the value together are one number
        group = group * width + column.codes
        number *= width
    group, number = _renumbered(group)
    first = np.empty(number, np.int64)
    first[group[::-1]] = np.arange(rows - 1, -1, -1)
    return group, first


def _renumbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    encoded = of_numbers(keys).dictionary_encode()
    return numbers_of(encoded.indices).astype(np.int64), len(encoded.dictionary)


def _totals(group: NDArray[np.int64], records: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Sum the records of each group, int64, shape (number,)."""
    totals = np.zeros(number, np.int64)
    np.add.at(totals, group, records)
    return totals


def _joined(parts: Sequence[Texts]) -> Texts:
    """Put columns one after the other."""
    distinct = pa.concat_arrays([part.distinct for part in parts])
    starts = np.cumsum([0, *(len(part.distinct) for part in parts)])
    codes = [part.codes + start for part, start in zip(parts, starts, strict=False)]
    return _recoded(Texts(distinct, np.concatenate(codes).astype(np.int32)), distinct)


def _recoded(column: Texts, texts: pa.Array) -> Texts:
    """Replace the distinct texts by others, of which some may be equal."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    return Texts(encoded.dictionary, numbers_of(encoded.indices).astype(np.int32)[column.codes])


def _texts(column: pa.Array, name: str) -> Texts:
    """Render a column as text; each distinct value once, which is much less work than each record's."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    try:
        # a dictionary may hold one value twice, or a missing one: it is encoded again as text
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode(null_encoding="encode")
    except pa.ArrowException:
        encoded = as_text(column, name).dictionary_encode(null_encoding="encode")
    codes = encoded.indices
    texts = as_text(encoded.dictionary, name)
    if codes.null_count:
        codes = filled(codes.cast(pa.int64()), len(texts))
        texts = pa.concat_arrays([texts, pa.nulls(1, pa.string())])
    return _recoded(Texts(texts, numbers_of(codes).astype(np.int32)), texts)


def _any_texts(column: pa.Array, name: str) -> tuple[Texts, bool]:
    """Render a sensitive column; values without a text form, such as lists, as Python writes them."""
    try:
        return _texts(column, name), True
    except InvalidData:
        texts = [None if value is None else repr(value) for value in column.to_pylist()]
        return _texts(pa.array(texts, pa.string()), name), False
