"""The class table of a release: distinct tuples of its labels, and of its labels and a sensitive value, with records.

In: a released file, read batch by batch, or a table. Out: what the expectations judge, in which each row stands for as
many records as its count says. Memory holds the distinct tuples and one batch. Arrow groups each batch and what was
found so far; nothing is shared with the engine, which verified the same release by code of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine import Count, InvalidData, Message, refuse_beyond

MARK = "*"
WAITING = 1 << 20
"""Rows of batches' groups that wait until they are added up; more where there are more distinct tuples."""
_BATCH_ROWS = 1 << 18
_RECORDS = "records"
_VALUE = "value"
_FIX = Message("raise memory_limit, make sensitive values coarser in the source, or let fewer columns be sensitive")
GROUPS = "\0groups"
"""Name of the values of several columns together, which no column of a release has."""


@dataclass(frozen=True, eq=False, repr=False)
class ClassTable:
    """The equivalence classes of a release.

    Attributes
    ----------
    schema : pyarrow Schema
        Of the release, all columns.
    rows : int
        Records of the release.
    labels : mapping of quasi-identifier to pyarrow string Array
        Its distinct labels; a missing one is a label.
    people : pyarrow Table or None
        Whose its records are, where these were counted in a database (`people_in_database`); None where the source is
        in a file.
    """

    schema: pa.Schema
    rows: int
    labels: Mapping[str, pa.Array]
    _classes: pa.Table
    _values: Mapping[str, pa.Table]
    people: pa.Table | None = None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, shape (classes,)."""
        return _numbers(self._classes[_RECORDS])

    @property
    def count(self) -> str:
        """Name of the column of `counted` with the number of records: none of the release."""
        return f"records of {'+'.join(self.schema.names)}"

    @property
    def starred(self) -> NDArray[np.bool_]:
        """Tell the class that has `*` in all quasi-identifiers, shape (classes,)."""
        return self._starred(self._classes)

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return the place of each class's label among the distinct ones of a quasi-identifier, shape (classes,)."""
        return _numbers(self._classes[str(list(self.labels).index(name))])

    def text(self) -> pa.Table:
        """Return the labels of each class as text, columns named by their place."""
        columns = [pc.take(texts, self._classes[str(place)]) for place, texts in enumerate(self.labels.values())]
        return pa.Table.from_arrays(columns, names=[str(place) for place in range(len(columns))])

    @property
    def places(self) -> pa.Table:
        """The places of each class's labels among the distinct ones, columns named by their place."""
        return self._classes.select([str(place) for place in range(len(self.labels))])

    def tuples(self, name: str) -> pa.Table:
        """Return the distinct tuples of labels and of the values of a sensitive column.

        Returns
        -------
        pyarrow Table
            The places of the labels, columns named by their place; `value`; `records`.

        Raises
        ------
        InvalidData
            The values cannot be compared.
        """
        if name not in self._values:
            raise InvalidData(f"column {name!r}: type {self.schema.field(name).type} cannot be counted")
        return self._values[name]

    def counted(self, name: str | None = None, *, starred: bool = True) -> pa.Table:
        """Return the distinct tuples of labels, or of labels and of the values of a sensitive column, with records.

        Parameters
        ----------
        starred : bool
            Whether those with `*` in all quasi-identifiers are among them.

        Returns
        -------
        pyarrow Table
            Columns by their names in the release; the number of records is in `count`.
        """
        table = self._classes if name is None else self.tuples(name)
        if not starred:
            table = table.filter(pa.array(~self._starred(table)))
        columns = {
            label: pa.DictionaryArray.from_arrays(table[str(place)].combine_chunks(), texts)
            for place, (label, texts) in enumerate(self.labels.items())
        }
        if name is not None:
            columns[name] = table[_VALUE]
        return pa.table({**columns, self.count: table[_RECORDS]})

    def _starred(self, table: pa.Table) -> NDArray[np.bool_]:
        found = np.ones(table.num_rows, np.bool_)
        for place, texts in enumerate(self.labels.values()):
            alike = pc.fill_null(pc.equal(texts, MARK), False).to_numpy(zero_copy_only=False)
            found &= alike[_numbers(table[str(place)])]
        return found


def class_table(
    release: pa.Table | Path,
    quasi_identifiers: Sequence[str],
    others: Sequence[str],
    together: Sequence[str] = (),
    memory: int | None = None,
) -> ClassTable:
    """Count the classes of a release.

    Parameters
    ----------
    release : pyarrow Table or path of a Parquet file
    quasi_identifiers, others : sequence of str
        Columns; those that the release lacks, or has twice, are not counted.
    together : sequence of str
        Some of the others whose values are also counted together, as `GROUPS`.
    memory : int, optional
        Bytes that the process may use.

    Raises
    ------
    InvalidJob
        There are more classes, or distinct values in them, than fit into the memory.
    InvalidData
        The file cannot be read.
    """
    try:
        schema = release.schema if isinstance(release, pa.Table) else pq.read_schema(release).remove_metadata()
        names = schema.names
        once = [name for name in dict.fromkeys([*quasi_identifiers, *others]) if names.count(name) == 1]
        keys = [name for name in quasi_identifiers if name in once and _has_text(schema.field(name).type)]
        values = [name for name in once if name not in quasi_identifiers and _is_comparable(schema.field(name).type)]
        counts = _Counts(keys, values, [name for name in together if name in values], memory)
        for batch in _batches(release, [*keys, *values]):
            counts.add(batch)
    except (OSError, UnicodeDecodeError, pa.ArrowException):  # their messages may quote a value
        raise InvalidData("data.parquet: cannot be read as Parquet; run the de-identification again") from None
    return counts.table(schema)


def class_table_of_counts(
    schema: pa.Schema,
    quasi_identifiers: Sequence[str],
    others: Sequence[str],
    counted: Iterable[tuple[pa.RecordBatch, pa.Array]],
) -> ClassTable:
    """Add up combinations of values that a database counted.

    Parameters
    ----------
    schema : pyarrow Schema
        Of the whole release.
    quasi_identifiers, others : sequence of str
        The columns of the combinations.
    counted : iterable of record batches, each with the records of its rows, int64, shape (rows,)
    """
    counts = _Counts(quasi_identifiers, others)
    for batch, records in counted:
        counts.add(batch, records)
    return counts.table(schema)


def _batches(release: pa.Table | Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if isinstance(release, pa.Table):
        yield from release.select(list(columns)).to_batches(max_chunksize=_BATCH_ROWS)
        return
    # texts are read as the dictionaries that the file holds them in
    with pq.ParquetFile(release, read_dictionary=list(columns)) as file:
        yield from file.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns))


class _Counts:
    """What was counted so far: the groups of each sensitive column, or of none if there is none."""

    def __init__(
        self, keys: Sequence[str], values: Sequence[str], together: Sequence[str] = (), memory: int | None = None
    ) -> None:
        self._rows = 0
        self._batches = 0
        self._memory = memory
        self._together = together
        self._keys = keys
        self._places = [str(place) for place in range(len(keys))]
        self._labels = [pa.array([], pa.string()) for _ in keys]
        read = [*values, *([GROUPS] if together else [])]
        self._groups = {name: _Groups([*self._places, _VALUE], name, memory) for name in read}
        self._classes = _Groups(self._places, "", memory)

    def add(self, batch: pa.RecordBatch, records: pa.Array | None = None) -> None:
        """Count the records of a batch; each row stands for as many as `records` says, by default for one."""
        counts = pa.array(np.ones(batch.num_rows, np.int64)) if records is None else records
        self._batches += 1
        self._rows += pc.sum(counts).as_py() or 0
        codes = [self._coded(place, batch.column(name)) for place, name in enumerate(self._keys)]
        for name, groups in self._groups.items():
            value = self._joined(batch) if name == GROUPS else _plain(batch.column(name))
            groups.add(pa.table([*codes, value, counts], names=[*self._places, _VALUE, _RECORDS]))
        if not self._groups:
            self._classes.add(pa.table([*codes, counts], names=[*self._places, _RECORDS]))

    def _joined(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the values of several columns as one text each."""
        texts = [pc.fill_null(_plain(batch.column(name)).cast(pa.string()), "") for name in self._together]
        return pc.binary_join_element_wise(*texts, "|")

    def table(self, schema: pa.Schema) -> ClassTable:
        """Return what was counted."""
        if not self._batches:
            # the values of a release without a record have the types of its columns too
            read = [*self._keys, *(name for name in self._groups if name != GROUPS)]
            self.add(pa.RecordBatch.from_pylist([], pa.schema([schema.field(name) for name in read])))
        values = {name: groups.summed() for name, groups in self._groups.items()}
        for found in values.values():
            self._classes.add(found.select([*self._places, _RECORDS]))
            break  # each of them has all records
        labels = dict(zip(self._keys, self._labels, strict=True))
        classes = self._classes.summed()
        largest = max([classes, *values.values()], key=lambda one: one.nbytes)
        if self._memory is not None:
            # the expectations read a copy of it at least
            refuse_beyond(self._memory, largest.nbytes, _many(largest.num_rows, "and values of a column"), _FIX)
        return ClassTable(schema, self._rows, labels, classes, values)

    def _coded(self, place: int, column: pa.Array) -> pa.Array:
        """Return the places of labels among the distinct ones, int32; new ones are added."""
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        # behind the texts of the batch: none, for records without one
        texts = pa.concat_arrays([encoded.dictionary.cast(pa.string()), pa.nulls(1, pa.string())])
        rows = pc.fill_null(encoded.indices.cast(pa.int32()), len(texts) - 1)
        used = texts.take(pc.unique(rows))
        new = pc.unique(used.filter(pc.invert(pc.is_in(used, value_set=self._labels[place]))))
        self._labels[place] = pa.concat_arrays([self._labels[place], new])
        return pc.index_in(texts, value_set=self._labels[place]).take(rows)


class _Groups:
    """Distinct tuples of labels, and of values of a column if one is named, with their records.

    They are added up from time to time.
    """

    def __init__(self, keys: Sequence[str], column: str, memory: int | None) -> None:
        self._keys = list(keys)
        self._column = column
        self._memory = memory
        self._found: list[pa.Table] = []
        self._waits = 0

    def add(self, table: pa.Table) -> None:
        """Add tuples with their `records`."""
        table = self._sum(table)
        self._found.append(table)
        self._waits += table.num_rows
        if self._waits > max(WAITING, self._found[0].num_rows):
            self.summed()

    def summed(self) -> pa.Table:
        """Return every tuple once."""
        waiting = pa.concat_tables(self._found)
        self._refuse_beyond_memory()
        self._found, self._waits = [self._sum(waiting)], 0
        return self._found[0]

    def _refuse_beyond_memory(self) -> None:
        """Refuse to add up more tuples than there is memory for.

        What comes out is counted, and not what Arrow takes on the way, which depends on how many tuples are equal: a
        release that would fit is never refused, and one that does not may pass the limit once.
        """
        if self._memory is None:
            return
        growth = max(part.nbytes for part in self._found)
        values = f"and values of column {self._column!r}" if self._column else "of quasi-identifiers"
        refuse_beyond(self._memory, growth, _many(max(part.num_rows for part in self._found), values), _FIX)

    def _sum(self, table: pa.Table) -> pa.Table:
        if not self._keys:
            return pa.table({_RECORDS: [pc.sum(table[_RECORDS]).as_py() or 0]})
        return (
            table.group_by(self._keys, use_threads=False)
            .aggregate([(_RECORDS, "sum")])
            .rename_columns([*self._keys, _RECORDS])
        )


def _many(number: int, values: str) -> Message:
    return Message.of(
        "there are {n} combinations of labels {values} to validate so far", n=Count(number), values=values
    )


def _plain(column: pa.Array) -> pa.Array:
    """Undo dictionary encoding: two codes may mean the same value."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _has_text(kind: pa.DataType) -> bool:
    try:
        _plain(pa.nulls(1, kind)).cast(pa.string())
    except pa.ArrowException:
        return False
    return True


def _is_comparable(kind: pa.DataType) -> bool:
    try:
        pa.table({_VALUE: _plain(pa.nulls(1, kind))}).group_by(_VALUE, use_threads=False).aggregate([])
    except pa.ArrowException:
        return False
    return True


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    found: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return found
