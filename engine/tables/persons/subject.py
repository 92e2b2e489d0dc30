"""Whose the records of a frequency table are: a further reading of the source gives its rows their persons.

In: the records that were counted, the column of persons, and the encoding and table that the counting made. Out: the
same table with `persons`. Where persons are suppressed as a whole, the rows are split by person
(`engine.tables.persons.rows_apart`). Memory: 8 bytes per record, 4 more for each sensitive attribute that a model
names, and the persons' identifiers once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.counting.columns import Dictionary, Sensitive
from engine.tables.counting.encoding import Encoding
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.person_runs import PersonRuns, Runs, ValueRuns
from engine.tables.counting.tuple_index import TupleIndex
from engine.tables.persons.rows_apart import rows_apart
from engine.tables.sources.person_codes import codes_of_persons, lacks_subject
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.table import Table


def with_persons(
    records: Table,
    subject: str,
    encoding: Encoding,
    table: FrequencyTable,
    sensitive: Mapping[str, Sensitive],
    *,
    apart: bool = False,
    counted: CountedPersons | None = None,
) -> FrequencyTable:
    """Return a frequency table with the persons of its rows.

    Parameters
    ----------
    records : Table
        What was counted.
    subject : str
        The column that says whose a record is.
    encoding, table
        What the counting made.
    sensitive : mapping of attribute to Sensitive
        How the attributes are read whose values the table counts.
    apart : bool
        Split the rows by person.
    counted : callable, optional
        Where records are not read: takes columns, and yields combinations of their values with the number of a person
        and the records of both. Each stands for its records, in any order.

    Raises
    ------
    InvalidData
        The column is missing, has missing values, or values that are the same but for case or blanks; or the source
        changed since it was counted.
    """
    if counted is None:
        read = read_records(records, subject, encoding, table, sensitive)
        rows, values = read.rows, read.values
        persons, number = codes_of_persons(read.subjects, subject)
    else:
        rows, values, persons = _counted_records(counted, encoding, table, sensitive)
        number = int(persons.max(initial=-1)) + 1
    if apart:
        return rows_apart(table, rows, persons, number, dict(values))
    return replace(table, persons=person_runs(table, rows, persons, number, values))


CountedPersons = Callable[[Sequence[str]], Iterable[tuple[pa.RecordBatch, NDArray[np.int64], NDArray[np.int64]]]]


class RecordsRead(NamedTuple):
    """The n records of a table, in the order of the source.

    Attributes
    ----------
    rows : int64, shape (n,)
        Row of the frequency table of each record.
    values : mapping of sensitive attribute to int64, shape (n,)
        Code of each record's value; -1 where the row has no values of the attribute.
    subjects : pyarrow ChunkedArray of text
        Whose each record is.
    """

    rows: NDArray[np.int64]
    values: Mapping[str, NDArray[np.int64]]
    subjects: pa.ChunkedArray


def read_records(
    records: Table, subject: str, encoding: Encoding, table: FrequencyTable, sensitive: Mapping[str, Sensitive]
) -> RecordsRead:
    """Read the records of a frequency table once more; see `with_persons`."""
    if subject not in records.schema.names:
        raise lacks_subject(subject)
    reading = _Reading(subject, encoding, table, sensitive)
    for batch in records.batches(list(dict.fromkeys([subject, *table.attributes, *table.sensitive]))):
        reading.see(batch)
    return reading.records()


def person_runs(
    table: FrequencyTable,
    rows: NDArray[np.int64],
    persons: NDArray[np.int64],
    number: int,
    values: Mapping[str, NDArray[np.int64]],
) -> PersonRuns:
    """Return the persons of the rows of a table, from the row, the person and the values of each record."""
    size = table.counts.size
    of_value = {
        name: ValueRuns.of(rows, persons, codes, size, number, len(table.sensitive[name].labels))
        for name, codes in values.items()
    }
    return PersonRuns(Runs.of(rows, persons, size, number), of_value)


def _counted_records(
    counted: CountedPersons, encoding: Encoding, table: FrequencyTable, sensitive: Mapping[str, Sensitive]
) -> tuple[NDArray[np.int64], Mapping[str, NDArray[np.int64]], NDArray[np.int64]]:
    """Return the row, the values and the person of each record where combinations were counted."""
    reading, persons = _Reading("", encoding, table, sensitive), [np.empty(0, np.int64)]
    for batch, numbers, records in counted(list(dict.fromkeys([*table.attributes, *table.sensitive]))):
        reading.see_counted(batch, records)
        persons.append(np.repeat(numbers, records))
    read = reading.records()
    return read.rows, read.values, np.concatenate(persons)


class _Reading:
    """Collects the row, the person and the sensitive values of each record."""

    def __init__(
        self, subject: str, encoding: Encoding, table: FrequencyTable, sensitive: Mapping[str, Sensitive]
    ) -> None:
        self._subject = subject
        self._encoding = encoding
        self._table = table
        # a value without an entry has a leaf of its own, and no label
        self._index = TupleIndex(list(table.codes), [hierarchy.codes.shape[1] for hierarchy in table.hierarchies])
        self._dictionaries = [_dictionary(name, table, sensitive[name]) for name in table.sensitive]
        self._there = [np.diff(values.offsets) > 0 for values in table.sensitive.values()]
        self._rows: list[NDArray[np.int32]] = []
        self._values: list[list[NDArray[np.int32]]] = [[] for _ in self._dictionaries]
        self._persons: list[pa.Array] = []

    def see(self, batch: pa.RecordBatch) -> None:
        self._see_values(batch, None)
        self._persons.append(person_texts(batch.column(self._subject), self._subject))

    def see_counted(self, batch: pa.RecordBatch, records: NDArray[np.int64]) -> None:
        """See combinations of values, each of so many records, whose persons the caller knows."""
        self._see_values(batch, records)

    def _see_values(self, batch: pa.RecordBatch, records: NDArray[np.int64] | None) -> None:
        rows = _unchanged(self._index.find(self._encoding.leaf_codes(batch)).astype(np.int32))
        self._rows.append(rows if records is None else np.repeat(rows, records))
        for dictionary, has, values in zip(self._dictionaries, self._there, self._values, strict=True):
            codes, there = dictionary.encode(batch.column(dictionary.name), grow=False), has[rows]
            _unchanged(codes[there])
            found = np.where(there, codes, np.int32(-1))
            values.append(found if records is None else np.repeat(found, records))

    def records(self) -> RecordsRead:
        rows = np.concatenate([np.empty(0, np.int32), *self._rows]).astype(np.int64)
        counts = self._table.counts
        if not np.array_equal(np.bincount(rows, minlength=counts.size), counts):
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")
        values = {
            dictionary.name: np.concatenate([np.empty(0, np.int32), *found]).astype(np.int64)
            for dictionary, found in zip(self._dictionaries, self._values, strict=True)
        }
        return RecordsRead(rows, values, pa.chunked_array(self._persons, pa.string()))


def _dictionary(name: str, table: FrequencyTable, read: Sensitive) -> Dictionary:
    """Return the codes that the values of a sensitive attribute have in the table."""
    dictionary = Dictionary(name, read.missing)
    dictionary.codes = {label: code for code, label in enumerate(table.sensitive[name].labels)}
    return dictionary


def _unchanged(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    if codes.size and codes.min() < 0:
        raise InvalidData("the source changed while it was read: it holds new combinations of values; run again")
    return codes
