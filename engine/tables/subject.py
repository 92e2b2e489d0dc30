"""Whose the records of a frequency table are: a further reading of the source gives its rows their persons.

In: the records that were counted, the column of persons, and the encoding and table that the counting made. Out: the
same table with `persons`. A missing person is an error, and so are two that are the same but for case or blanks: they
would count as two where there may be one. Where persons are suppressed as a whole, the rows are split by person
(`engine.tables.rows_apart`). Memory: 8 bytes per record, 4 more for each sensitive attribute that a model names, and
the persons' identifiers once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.message import Count, Message
from engine.tables.columns import Dictionary, Sensitive
from engine.tables.encode import Encoding
from engine.tables.frequency import FrequencyTable
from engine.tables.person_runs import PersonRuns, Runs, ValueRuns
from engine.tables.rows_apart import rows_apart
from engine.tables.source import Table, as_text
from engine.tables.tuple_index import TupleIndex


def with_persons(
    records: Table,
    subject: str,
    encoding: Encoding,
    table: FrequencyTable,
    sensitive: Mapping[str, Sensitive],
    *,
    apart: bool = False,
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

    Raises
    ------
    InvalidData
        The column is missing, has missing values, or values that are the same but for case or blanks; or the source
        changed since it was counted.
    """
    if subject not in records.schema.names:
        raise lacks_subject(subject)
    reading = _Reading(subject, encoding, table, sensitive)
    for batch in records.batches(list(dict.fromkeys([subject, *table.attributes, *table.sensitive]))):
        reading.see(batch)
    return reading.apart() if apart else replace(table, persons=reading.persons())


def lacks_subject(subject: str) -> InvalidData:
    """Return the error of a source without the column of persons."""
    return InvalidData(
        f"subject {subject!r}: the source lacks this column, so nobody can tell whose its records are; extract it, or "
        "count records with unit: record instead"
    )


def codes_of_persons(column: pa.ChunkedArray, subject: str) -> tuple[NDArray[np.int64], int]:
    """Return a number for each record's person, shape (records,), and the number of persons.

    Parameters
    ----------
    column : pyarrow ChunkedArray of text

    Raises
    ------
    InvalidData
        Values are missing or blank, or the same but for case or blanks.
    """
    encoded = column.dictionary_encode().unify_dictionaries()
    values = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
    plain = pc.replace_substring_regex(pc.utf8_lower(values), r"[\s\p{Z}]", "")
    blank = pc.equal(plain, "")
    codes = [np.asarray(chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)) for chunk in encoded.chunks]
    found = np.concatenate([np.empty(0, np.int64), *codes]).astype(np.int64)
    is_blank = np.append(np.asarray(blank.to_numpy(zero_copy_only=False), np.bool_), True)
    missing = int(is_blank[found].sum())
    if missing:
        raise InvalidData(
            Message.of(
                "subject {subject!r}: {missing} records have a missing or blank value, so nobody can tell whose they "
                "are; fill it in the source, or leave these records out of its query",
                subject=subject,
                missing=Count(missing),
            )
        )
    alike = len(values) - pc.count_distinct(plain).as_py()
    if alike:
        raise InvalidData(
            Message.of(
                "subject {subject!r}: {alike} of its values are another but for case or blanks, so that one person may "
                "be counted as several; write them alike in the source, such as by UPPER(TRIM(...)) in its query",
                subject=subject,
                alike=Count(alike),
            )
        )
    return found, len(values)


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
        self._rows: list[NDArray[np.int32]] = []
        self._values: list[list[NDArray[np.int32]]] = [[] for _ in self._dictionaries]
        self._persons: list[pa.Array] = []

    def see(self, batch: pa.RecordBatch) -> None:
        rows = self._index.find(self._encoding.leaf_codes(batch))
        self._rows.append(_unchanged(rows.astype(np.int32)))
        for dictionary, values in zip(self._dictionaries, self._values, strict=True):
            values.append(_unchanged(dictionary.encode(batch.column(dictionary.name), grow=False)))
        self._persons.append(as_text(batch.column(self._subject), self._subject))

    def apart(self) -> FrequencyTable:
        rows, persons, number = self._records()
        values = {
            dictionary.name: np.concatenate([np.empty(0, np.int32), *found]).astype(np.int64)
            for dictionary, found in zip(self._dictionaries, self._values, strict=True)
        }
        return rows_apart(self._table, rows, persons, number, values)

    def persons(self) -> PersonRuns:
        rows, persons, number = self._records()
        counts, values = self._table.counts, {}
        for dictionary, found in zip(self._dictionaries, self._values, strict=True):
            pairs, pair = np.unique(np.concatenate(found).astype(np.int64) * number + persons, return_inverse=True)
            value_of = (pairs // number).astype(np.int32)
            totals = np.bincount(value_of, minlength=len(self._table.sensitive[dictionary.name].labels))
            runs = Runs.of(rows, pair.astype(np.int64), counts.size, pairs.size)
            values[dictionary.name] = ValueRuns(runs, value_of, totals)
        return PersonRuns(Runs.of(rows, persons, counts.size, number), values)

    def _records(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the row and the person of each record, and the number of persons."""
        rows = np.concatenate([np.empty(0, np.int32), *self._rows]).astype(np.int64)
        counts = self._table.counts
        if not np.array_equal(np.bincount(rows, minlength=counts.size), counts):
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")
        return rows, *codes_of_persons(pa.chunked_array(self._persons, pa.string()), self._subject)


def _dictionary(name: str, table: FrequencyTable, read: Sensitive) -> Dictionary:
    """Return the codes that the values of a sensitive attribute have in the table."""
    dictionary = Dictionary(name, read.missing)
    dictionary.codes = {label: code for code, label in enumerate(table.sensitive[name].labels)}
    return dictionary


def _unchanged(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    if codes.size and codes.min() < 0:
        raise InvalidData("the source changed while it was read: it holds new combinations of values; run again")
    return codes
