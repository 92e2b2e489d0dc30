"""How often the values of a column occur, in memory that does not grow with the table.

In: hashes of values, batch by batch. Out: the number of distinct values, the pairs of records that agree, the records
with rare values. All are exact up to `KEPT` distinct values. Beyond, the values with the `KEPT` smallest hashes are a
random sample of all, with exact counts: a k-minimum-values sketch (Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan:
Counting distinct elements in a data stream, RANDOM 2002), standard error 0.4%. Pairs then come from a sketch of the
second moment (Alon, Matias, Szegedy: The space complexity of approximating the frequency moments, STOC 1996; in
buckets as by Charikar, Chen, Farach-Colton, ICALP 2002), standard error 0.6%.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KEPT = 1 << 16
_BUCKET_BITS = 16


class ValueCounts:
    """Counts of the values of one column.

    Parameters
    ----------
    kept : int
        Distinct values up to which everything is exact; memory is about 32 bytes for each that there is.

    Attributes
    ----------
    records : int
        Records with a value.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.records = 0
        self._kept = kept
        self._values = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []
        self._waits = 0
        # buckets of the second moment, from when there are more values than are kept
        self._moment: NDArray[np.float64] | None = None

    def add(self, hashes: NDArray[np.uint64], records: NDArray[np.int64] | None = None) -> None:
        """Count the values of a batch.

        Parameters
        ----------
        hashes : uint64, shape (values,)
        records : int64, shape (values,), optional
            How many have each of them; else each has one.
        """
        values, counts = _summed(hashes, np.ones(hashes.size, np.int64) if records is None else records)
        self.records += int(counts.sum())
        if self._moment is not None:
            self._moment += _buckets(values, counts)
            near = values <= self._values[-1]
            values, counts = values[near], counts[near]
        self._waiting.append((values, counts))
        self._waits += values.size
        if self._waits > self._kept:
            self._merge()

    @property
    def distinct(self) -> float:
        """Number of distinct values."""
        self._merge()
        if self._moment is None:
            return float(self._values.size)
        return (self._kept - 1) / (float(self._values[-1]) / 2.0**64)

    @property
    def agreeing_pairs(self) -> float:
        """Ordered pairs of different records with the same value."""
        self._merge()
        if self._moment is None:
            return float((self._counts.astype(np.float64) * (self._counts - 1)).sum())
        return max(0.0, float((self._moment**2).sum()) - self.records)

    def records_of_rare(self, fewer_than: int) -> float:
        """Return the number of records whose value occurs in fewer than that many records."""
        self._merge()
        rare = float(self._counts[self._counts < fewer_than].sum())
        return rare if self._moment is None else min(self.records, rare * self.distinct / self._kept)

    def _merge(self) -> None:
        if not self._waiting:
            return
        parts = [(self._values, self._counts), *self._waiting]
        self._waiting, self._waits = [], 0
        values, counts = _summed(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        if self._moment is None and values.size > self._kept:
            self._moment = _buckets(values, counts)
        # a value that is left out once has a larger hash than all that are kept later, so it never comes back
        self._values, self._counts = values[: self._kept], counts[: self._kept]


def _buckets(values: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add up the counts in buckets, each with a random sign."""
    signs = (values & np.uint64(1)).astype(np.float64) * 2 - 1
    places = (values >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    return np.bincount(places, signs * counts, 1 << _BUCKET_BITS).astype(np.float64, copy=False)


def _summed(values: NDArray[np.uint64], counts: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct values, ascending, and the sum of the counts of each."""
    order = np.argsort(values)
    ascending = values[order]
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: values.size])
    return ascending[first], np.add.reduceat(counts[order], first) if first.size else counts[:0]
