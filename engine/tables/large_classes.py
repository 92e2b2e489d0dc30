"""The records of a table whose classes are large enough, at levels that are fixed beforehand.

In: a table, how its quasi-identifiers are read, their levels, and how many records a class must have. Out: a `Table`
of the records of these classes, in their order, with their own values. All later steps count these and no others.

Which class a record is of follows from its own values alone, and no value is an error: one without an entry has the
label of the root. So no record that is left out changes what becomes of another one, or ends a run. (Li, Qardaji, Su,
On sampling, anonymization, and differential privacy, ASIACCS 2012: strongly safe k-anonymization.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.hierarchy.builder import SUPPRESSED
from engine.hierarchy.hierarchy import Label
from engine.tables.columns import Dictionary, QuasiIdentifier
from engine.tables.source import Table
from engine.tables.tuple_counts import TupleCounts
from engine.tables.tuple_index import TupleIndex

_ROOT, _MISSING = 0, 1
"""Codes of the labels that say nothing of a value."""


class LargeClasses:
    """The records of large classes; the table is read once to count them.

    Parameters
    ----------
    columns : mapping of quasi-identifier to QuasiIdentifier
    levels : mapping of quasi-identifier to int
        Each below the last level of a hierarchy that ends in one root.
    least : int
        Records that a class must have.

    Attributes
    ----------
    records : int
        How many there are.
    blank : tuple of str
        Columns in which all of them have the label of the root, or a missing value.
    """

    def __init__(
        self, source: Table, columns: Mapping[str, QuasiIdentifier], levels: Mapping[str, int], least: int
    ) -> None:
        self._source = source
        self.schema = source.schema
        self._dictionaries = [Dictionary(name, column.missing) for name, column in columns.items()]
        counts = TupleCounts()
        for batch in source.batches(list(columns)):
            if batch.num_rows:
                found = self._encoded(batch, grow=True)
                counts.add(found, [len(one.codes) for one in self._dictionaries])
        self.records = 0
        self.blank: tuple[str, ...] = ()
        self._large: TupleIndex | None = None
        if not any(one.codes for one in self._dictionaries):
            return
        tuples, records = counts.total()
        labels = [
            _labels(list(one.codes), columns[one.name], levels[one.name])[codes]
            for one, codes in zip(self._dictionaries, tuples.T, strict=True)
        ]
        classes = TupleIndex(labels, [int(one.max()) + 1 for one in labels]).group
        large = np.bincount(classes, records).astype(np.int64)[classes] >= least
        self.records = int(records[large].sum())
        if not self.records:
            return
        self.blank = tuple(
            name for name, codes in zip(columns, labels, strict=True) if codes[large].max() <= max(_ROOT, _MISSING)
        )
        shown = [np.ascontiguousarray(codes[large]) for codes in tuples.T]
        # an unknown value is one more code
        self._large = TupleIndex(shown, [len(one.codes) + 1 for one in self._dictionaries])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        names = [one.name for one in self._dictionaries]
        for batch in self._source.batches(list(dict.fromkeys([*columns, *names]))):
            yield batch.filter(pa.array(self._shown(batch))).select(list(columns))

    def _shown(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        if self._large is None or not batch.num_rows:
            return np.zeros(batch.num_rows, np.bool_)
        codes = self._encoded(batch, grow=False)
        known = np.logical_and.reduce([one >= 0 for one in codes])
        found = self._large.find([np.where(one < 0, 0, one).astype(np.int32) for one in codes])
        shown: NDArray[np.bool_] = (found >= 0) & known
        return shown

    def _encoded(self, batch: pa.RecordBatch, *, grow: bool) -> list[NDArray[np.int32]]:
        return [one.encode(batch.column(one.name), grow=grow) for one in self._dictionaries]


def _labels(values: Sequence[Label], column: QuasiIdentifier, level: int) -> NDArray[np.int32]:
    """Return a code of the label of each value, int32, shape (values,): the lowest are those of no own label."""
    rows = column.hierarchy.rows(sorted(value for value in values if value is not None))
    root = rows[0][-1] if rows else SUPPRESSED
    entries = {row[0]: row[level] for row in rows}
    labels: list[Label] = [None if value is None else entries.get(value, root) for value in values]
    codes = {label: code for code, label in enumerate(dict.fromkeys([root, None, *labels]))}
    return np.array([codes[label] for label in labels], np.int32)
