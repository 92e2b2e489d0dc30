"""Distinct tuples of codes with their counts, each tuple packed into one integer.

In: columns of codes, batch by batch; how many codes a column has is not known before the last one. Out: the distinct
tuples in order of first appearance. Each column has some bits of the key; when its codes outgrow them, all keys are
packed again with more. Where a tuple does not fit into 63 bits, its halves are counted first, and the key is the pair
of their numbers. Memory grows only with the tuples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.kernels.keys import count_keys, find_keys, index_keys
from engine.tables.counting.packed import BITS, bits_of, packed, unpacked

_SPARE = 2
"""Further bits that a column gets, as long as there are some, so that keys are seldom packed again."""
_FEWEST = 1 << 10
_NUMBER_BITS = 31
"""Of the number of a half: there are at most 2^31 of them."""
_AT_ONCE = 1 << 17
"""Tuples that are counted anew at a time."""


class TupleCounts:
    """Counts tuples of a fixed number of columns."""

    def __init__(self) -> None:
        self._bits: list[int] = []
        self._known = np.empty(_FEWEST, np.int64)
        self._counts = np.empty(_FEWEST, np.int64)
        self._slots = np.full(2 * _FEWEST, -1, np.int32)
        self._size = 0
        self._halves: tuple[TupleCounts, TupleCounts] | None = None

    def add(
        self, columns: Sequence[NDArray[np.int32]], widths: Sequence[int], records: NDArray[np.int64] | None = None
    ) -> None:
        """Add tuples.

        Parameters
        ----------
        columns : int32, each of shape (rows,)
        widths : int
            Of each column, how many codes it has so far.
        records : int64, shape (rows,), optional
            Records with each tuple; by default 1.
        """
        self._merge(self._keys(columns, widths), np.ones(1, np.int64) if records is None else records)

    def total(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the distinct tuples, shape (rows, columns), each column contiguous, and their records."""
        return self._unpacked().T, self._counts[: self._size].copy()

    @property
    def size(self) -> int:
        """Number of distinct tuples so far."""
        return self._size

    def _keys(self, columns: Sequence[NDArray[np.int32]], widths: Sequence[int]) -> NDArray[np.int64]:
        """Return the key of each tuple, shape (rows,); what is needed for it grows."""
        if self._halves is None:
            self._fit(bits_of(widths))
        if self._halves is None:
            return packed(columns, self._bits)
        middle = len(columns) // 2
        parts = (slice(None, middle), slice(middle, None))
        first, last = (
            half._numbers(columns[part], widths[part])  # noqa: SLF001 (of this class)
            for half, part in zip(self._halves, parts, strict=True)
        )
        return first << _NUMBER_BITS | last

    def _numbers(self, columns: Sequence[NDArray[np.int32]], widths: Sequence[int]) -> NDArray[np.int64]:
        """Add tuples; return the number of each one's tuple, shape (rows,)."""
        keys = self._keys(columns, widths)
        self._merge(keys, np.ones(1, np.int64))
        return find_keys(keys, self._known[: self._size], self._slots)

    def _fit(self, needed: list[int]) -> None:
        """Make room for codes of so many bits."""
        if self._bits and all(bits >= least for bits, least in zip(self._bits, needed, strict=True)):
            return
        wide = [max(bits, least) for bits, least in zip(self._bits or needed, needed, strict=True)]
        if sum(wide) > BITS:
            self._halve()
            return
        roomy = [bits + _SPARE for bits in wide]
        unpacked = self._unpacked()
        self._bits = roomy if sum(roomy) <= BITS else wide
        if self._size:
            self._known[: self._size] = packed(list(unpacked), self._bits)
            self._index(self._slots.size)

    def _halve(self) -> None:
        """Count the halves of tuples from now on; the tuples so far keep their numbers."""
        known, size = self._known, self._size
        self._halves = (TupleCounts(), TupleCounts())
        for start in range(0, size, _AT_ONCE):
            codes = list(unpacked(known[start : min(start + _AT_ONCE, size)], self._bits))
            known[start : start + codes[0].size] = self._keys(codes, [1 << bits for bits in self._bits])
        self._index(self._slots.size)

    def _merge(self, keys: NDArray[np.int64], records: NDArray[np.int64]) -> None:
        if not keys.size:
            return
        most = self._size + keys.size
        if most > self._known.size:
            capacity = max(most, self._known.size * 3 // 2)
            self._known = np.concatenate([self._known[: self._size], np.empty(capacity - self._size, np.int64)])
            self._counts = np.concatenate([self._counts[: self._size], np.empty(capacity - self._size, np.int64)])
        if 2 * most > self._slots.size:
            self._index(1 << (2 * most - 1).bit_length())
        self._size = int(count_keys(keys, records, self._known, self._counts, self._slots, self._size))

    def _index(self, slots: int) -> None:
        self._slots = np.full(slots, -1, np.int32)
        index_keys(self._known[: self._size], self._slots)

    def _unpacked(self) -> NDArray[np.int32]:
        keys = self._known[: self._size]
        if self._halves is None:
            return unpacked(keys, self._bits)
        first, last = (half._unpacked() for half in self._halves)  # noqa: SLF001 (of this class)
        codes = np.empty((first.shape[0] + last.shape[0], self._size), np.int32)
        np.take(first, keys >> _NUMBER_BITS, axis=1, out=codes[: first.shape[0]])
        np.take(last, keys & ((1 << _NUMBER_BITS) - 1), axis=1, out=codes[first.shape[0] :])
        return codes
