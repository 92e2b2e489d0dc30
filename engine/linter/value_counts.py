"""How often the values of a column occur, in memory that does not grow with the table.

In: hashes of values, batch by batch. Out: the number of distinct values, the pairs of records that agree, the records
with rare values. All are exact up to `KEPT` distinct values. Beyond, the values with the `KEPT` smallest hashes are a
random sample of all, with exact counts: a k-minimum-values sketch (Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan:
Counting distinct elements in a data stream, RANDOM 2002), standard error 0.2%. Pairs then come from a sketch of the
second moment (Alon, Matias, Szegedy: The space complexity of approximating the frequency moments, STOC 1996; in
buckets as by Charikar, Chen, Farach-Colton, ICALP 2002), standard error 0.6%.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KEPT = 1 << 18
_BUCKET_BITS = 16


class ValueCounts:
    """Counts of the values of one column.

    Parameters
    ----------
    kept : int
        Distinct values up to which everything is exact; memory is about 32 bytes for each.

    Attributes
    ----------
    records : int
        Records with a value.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.records = 0
        self._kept = kept
        self._is_complete = True
        self._values = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[NDArray[np.uint64]] = []
        self._moment = np.zeros(1 << _BUCKET_BITS)

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Count the values of a batch, uint64, shape (records,)."""
        self.records += hashes.size
        signs = (hashes & np.uint64(1)).astype(np.float64) * 2 - 1
        buckets = (hashes >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
        self._moment += np.bincount(buckets, signs, 1 << _BUCKET_BITS)
        self._waiting.append(hashes if self._is_complete else hashes[hashes <= self._values[-1]])
        if sum(part.size for part in self._waiting) > self._kept:
            self._merge()

    @property
    def distinct(self) -> float:
        """Number of distinct values."""
        self._merge()
        if self._is_complete:
            return float(self._values.size)
        return (self._kept - 1) / (float(self._values[-1]) / 2.0**64)

    @property
    def agreeing_pairs(self) -> float:
        """Ordered pairs of different records with the same value."""
        self._merge()
        if self._is_complete:
            return float((self._counts.astype(np.float64) * (self._counts - 1)).sum())
        return max(0.0, float((self._moment**2).sum()) - self.records)

    def records_of_rare(self, fewer_than: int) -> float:
        """Return the number of records whose value occurs in fewer than that many records."""
        self._merge()
        rare = float(self._counts[self._counts < fewer_than].sum())
        return rare if self._is_complete else min(self.records, rare * self.distinct / self._kept)

    def _merge(self) -> None:
        if not self._waiting:
            return
        new = np.concatenate(self._waiting)
        self._waiting = []
        values, counts = _summed(new, np.ones(new.size, np.int64))
        values, summed = _summed(np.concatenate([self._values, values]), np.concatenate([self._counts, counts]))
        # a value that is left out once has a larger hash than all that are kept later, so it never comes back
        self._is_complete = self._is_complete and values.size <= self._kept
        self._values, self._counts = values[: self._kept], summed[: self._kept]


def _summed(values: NDArray[np.uint64], counts: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct values, ascending, and the sum of the counts of each."""
    order = np.argsort(values)
    ascending = values[order]
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: values.size])
    return ascending[first], np.add.reduceat(counts[order], first) if first.size else counts[:0]
