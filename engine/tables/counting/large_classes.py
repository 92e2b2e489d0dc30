"""The records of a table whose classes are large enough, at levels that are fixed beforehand.

In: a table, how its quasi-identifiers are read, their levels, and how many records a class must have. Out: a `Table`
of the records of these classes, in their order, with their own values. All later steps count these and no others.

Which class a record is of follows from its own values alone, so no record that is left out changes what becomes of
another one, or ends a run. (Li, Qardaji, Su, On sampling, anonymization, and differential privacy, ASIACCS 2012:
strongly safe k-anonymization.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.tables.counting.columns import QuasiIdentifier
from engine.tables.counting.label_tuples import LAST_BLANK, LabelTuples
from engine.tables.sources.table import Table


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
        self._tuples = LabelTuples(source, columns)
        labels = {name: self._tuples.labels(name, level) for name, level in levels.items()}
        large = self._tuples.class_sizes(list(labels.values())) >= least
        self.records = int(self._tuples.records[large].sum())
        self._large = self._tuples.index(large) if self.records else None
        self.blank = tuple(name for name, codes in labels.items() if self.records and codes[large].max() <= LAST_BLANK)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        for batch in self._source.batches(list(dict.fromkeys([*columns, *self._tuples.columns]))):
            yield batch.filter(pa.array(self._shown(batch))).select(list(columns))

    def _shown(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        if self._large is None or not batch.num_rows:
            return np.zeros(batch.num_rows, np.bool_)
        codes = self._tuples.encoded(batch)
        known = np.logical_and.reduce([one >= 0 for one in codes])
        found = self._large.find([np.maximum(one, 0) for one in codes])
        shown: NDArray[np.bool_] = (found >= 0) & known
        return shown
