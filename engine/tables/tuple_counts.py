"""Distinct tuples of codes with their counts, each tuple packed into one integer.

In: columns of codes, batch by batch; how many codes a column has is not known before the last one. Out: the distinct
tuples in order of first appearance. Each column has some bits of the key; when its codes outgrow them, all keys are
packed again with more. Tuples that do not fit into 63 bits are compared whole. Memory grows only with the tuples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.kernels.keys import count_keys, index_keys
from engine.tables.frequency import Accumulator
from engine.tables.packed import BITS, bits_of, packed, unpacked

_SPARE = 2
"""Further bits that a column gets, as long as there are some, so that keys are seldom packed again."""
_FEWEST = 1 << 10


class TupleCounts:
    """Counts tuples of a fixed number of columns."""

    def __init__(self) -> None:
        self._bits: list[int] = []
        self._known = np.empty(_FEWEST, np.int64)
        self._counts = np.empty(_FEWEST, np.int64)
        self._slots = np.full(2 * _FEWEST, -1, np.int32)
        self._size = 0
        self._whole: Accumulator | None = None

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
        if self._whole is None:
            self._fit(bits_of(widths))
        if self._whole is not None:
            self._whole.add(np.column_stack(columns), records)
            return
        self._merge(packed(columns, self._bits), np.ones(1, np.int64) if records is None else records)

    def total(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the distinct tuples, shape (rows, columns), each column contiguous, and their records."""
        if self._whole is not None:
            codes, counts = self._whole.total()
            return np.ascontiguousarray(codes.T).T, counts
        return self._unpacked().T, self._counts[: self._size].copy()

    @property
    def size(self) -> int:
        """Number of distinct tuples so far; where they are compared whole, 0."""
        return self._size

    def _fit(self, needed: list[int]) -> None:
        """Make room for codes of so many bits."""
        if self._bits and all(bits >= least for bits, least in zip(self._bits, needed, strict=True)):
            return
        wide = [max(bits, least) for bits, least in zip(self._bits or needed, needed, strict=True)]
        if sum(wide) > BITS:
            self._give_up()
            return
        roomy = [bits + _SPARE for bits in wide]
        unpacked = self._unpacked()
        self._bits = roomy if sum(roomy) <= BITS else wide
        if self._size:
            self._known[: self._size] = packed(list(unpacked), self._bits)
            self._index(self._slots.size)

    def _give_up(self) -> None:
        """Compare whole tuples from now on."""
        self._whole = Accumulator()
        if self._size:
            self._whole.add(np.ascontiguousarray(self._unpacked().T), self._counts[: self._size].copy())
        self._known = self._counts = np.empty(0, np.int64)
        self._slots = np.empty(0, np.int32)
        self._size = 0

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
        return unpacked(self._known[: self._size], self._bits)
