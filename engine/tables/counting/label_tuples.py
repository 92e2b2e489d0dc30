"""The distinct combinations of values of a table, and the classes they form at any levels.

In: a table and how its quasi-identifiers are read. Out: for each combination its records, and the code of its label at
a level. A label follows from the value alone, and no value is an error: one without an entry in its hierarchy has the
label of the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.hierarchy.builder import SUPPRESSED
from engine.hierarchy.hierarchy import Label
from engine.tables.counting.columns import Dictionary, QuasiIdentifier
from engine.tables.counting.tuple_counts import TupleCounts
from engine.tables.counting.tuple_index import TupleIndex
from engine.tables.sources.table import Table

LAST_BLANK = 1
"""The last of the codes of labels that say nothing of a value: that of the root, and that of a missing value."""


class LabelTuples:
    """The R combinations of values of a table, which is read once.

    Attributes
    ----------
    columns : mapping of quasi-identifier to QuasiIdentifier
        m of them; each hierarchy ends in one root.
    codes : int32, shape (R, m)
        Of the values.
    records : int64, shape (R,)
    """

    def __init__(self, source: Table, columns: Mapping[str, QuasiIdentifier]) -> None:
        self.columns = columns
        self._dictionaries = [Dictionary(name, column.missing) for name, column in columns.items()]
        counts = TupleCounts()
        for batch in source.batches(list(columns)):
            if batch.num_rows:
                found = [one.encode(batch.column(one.name), grow=True) for one in self._dictionaries]
                counts.add(found, [len(one.codes) for one in self._dictionaries])
        self.codes = np.empty((0, len(columns)), np.int32)
        self.records = np.empty(0, np.int64)
        if any(one.codes for one in self._dictionaries):
            self.codes, self.records = counts.total()
        self._rows: dict[str, dict[Label, Sequence[Label]]] = {}

    def labels(self, name: str, level: int) -> NDArray[np.int32]:
        """Return the code of the label of each combination in a column, int32, shape (R,)."""
        place = list(self.columns).index(name)
        values = list(self._dictionaries[place].codes)
        if name not in self._rows:
            rows = self.columns[name].hierarchy.rows(sorted(value for value in values if value is not None))
            self._rows[name] = {row[0]: row for row in rows}
        entries = self._rows[name]
        root = next(iter(entries.values()))[-1] if entries else SUPPRESSED
        labels = [None if value is None else entries[value][level] if value in entries else root for value in values]
        code_of = {label: code for code, label in enumerate(dict.fromkeys([root, None, *labels]))}
        return np.array([code_of[label] for label in labels], np.int32)[self.codes[:, place]]

    def class_sizes(self, labels: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
        """Return for each combination the records of its class, int64, shape (R,).

        Parameters
        ----------
        labels : sequence of m int32 arrays, shape (R,)
            As of `labels`, one of each column.
        """
        if not self.records.size:
            return self.records
        classes = TupleIndex(labels, [int(one.max()) + 1 for one in labels]).group
        found: NDArray[np.int64] = np.bincount(classes, self.records).astype(np.int64)[classes]
        return found

    def index(self, chosen: NDArray[np.bool_]) -> TupleIndex:
        """Return an index of some of the combinations, of which there must be one."""
        columns = [np.ascontiguousarray(codes[chosen]) for codes in self.codes.T]
        return TupleIndex(columns, [len(one.codes) for one in self._dictionaries])

    def encoded(self, batch: pa.RecordBatch) -> list[NDArray[np.int32]]:
        """Return the codes of the values of a batch, -1 for one that did not occur."""
        return [one.encode(batch.column(one.name), grow=False) for one in self._dictionaries]
