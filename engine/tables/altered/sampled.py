"""A random sample of records: each is drawn by itself, with the same probability, before anything is counted.

In: a source, a fraction, a key. Out: a `Table` of the records that are drawn, in the order of the source. A record is
drawn if the keyed hash of its place is below the fraction of all hashes: who does not have the key cannot tell which
were drawn, and the choice depends on nothing that a record holds. (Poisson sampling: Li, Qardaji, Su, On sampling,
anonymization, and differential privacy, ASIACCS 2012, definition 4.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from engine.tables.altered.row_cap import row_hash
from engine.tables.sources.table import Table

_HASHES = 1 << 64


class SampledTable:
    """The records of a source that are drawn.

    Parameters
    ----------
    fraction : float
        Above 0 and below 1.
    key : bytes
        `engine.tables.altered.row_cap.KEY_BYTES` of them, secret and random.
    """

    def __init__(self, source: Table, fraction: float, key: bytes) -> None:
        self._source = source
        self._below = int(fraction * _HASHES)
        self._key = key
        self._drawn = np.empty(0, np.bool_)
        self.schema = source.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        begin = 0
        for batch in self._source.batches(columns):
            end = begin + batch.num_rows
            self._draw(end)
            yield batch.filter(pa.array(self._drawn[begin:end]))
            begin = end

    def drawn_of(self, rows: int) -> int:
        """Return how many of so many records are drawn, of a source that has them."""
        self._draw(rows)
        return int(self._drawn[:rows].sum())

    def _draw(self, end: int) -> None:
        """Draw up to a place; what was drawn in an earlier reading stays."""
        new = range(self._drawn.size, end)
        if new:
            drawn = np.fromiter((row_hash(place, self._key) < self._below for place in new), np.bool_, len(new))
            self._drawn = np.concatenate([self._drawn, drawn])
