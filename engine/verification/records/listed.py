"""Recounts which records of a source a research subset lists.

Records are compared as text in the columns of the subset's file, a missing value reading like an empty text. Of records
that read alike, as many are released as the file has rows like them, and the first ones are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class Listed:
    """What a subset says of a source that is read batch by batch.

    Memory holds the distinct rows of the file.

    Parameters
    ----------
    columns : sequence of str
        Columns of the file.
    batches : iterable of pyarrow Table
        Its rows, as text.

    Attributes
    ----------
    rows : int
        Rows of the file.
    """

    def __init__(self, columns: Sequence[str], batches: Iterable[pa.Table]) -> None:
        self._columns = list(columns)
        keys = pa.chunked_array([pa.array([], pa.string()), *map(self._keys, batches)])
        self.rows = len(keys)
        counted = pc.value_counts(keys)
        self._distinct = counted.field("values")
        self._left: NDArray[np.int64] = counted.field("counts").to_numpy().copy()

    @property
    def unmatched(self) -> int:
        """Rows of the file that are none of the records read so far."""
        return int(self._left.sum())

    def released(self, records: pa.Table) -> NDArray[np.bool_]:
        """Tell which of the next records are listed, shape (records,).

        Parameters
        ----------
        records : pyarrow Table
            At least the columns of the file, as text.
        """
        row = pc.fill_null(pc.index_in(self._keys(records), value_set=self._distinct), -1).to_numpy()
        released: NDArray[np.bool_] = row >= 0
        released[released] = _places(row[released]) < self._left[row[released]]
        self._left -= np.bincount(row[released], minlength=self._left.size)
        return released

    def _keys(self, records: pa.Table) -> pa.Array:
        """Return one text for each record: its values, each behind its length, so that no two records share one."""
        parts = []
        for name in self._columns:
            text = pc.fill_null(records[name].combine_chunks(), "")
            parts += [pc.binary_length(text).cast(pa.string()), text]
        return pc.binary_join_element_wise(*parts, ":")


def _places(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows of the same group precede each row, shape (rows,)."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    place = np.empty_like(order)
    place[order] = np.arange(order.size) - np.searchsorted(ordered, ordered)
    return place
