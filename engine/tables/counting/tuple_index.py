"""Distinct tuples of codes, and the number of each record's tuple among them.

In: columns of codes, and how many codes each has. Out: numbers in order of first appearance. A tuple is packed into one
integer; those that do not fit are compared whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.kernels.keys import count_keys, find_keys
from engine.kernels.tuples import find_tuples, index_tuples
from engine.tables.counting.packed import BITS, bits_of, packed, unpacked


class TupleIndex:
    """The distinct tuples of some columns.

    Parameters
    ----------
    columns : int32, each of shape (rows,)
    widths : int
        Number of codes of each column.

    Attributes
    ----------
    group : int64, shape (rows,)
        Number of each row's tuple.
    known : int32, shape (tuples, columns)
        The distinct tuples.
    """

    def __init__(self, columns: Sequence[NDArray[np.int32]], widths: Sequence[int]) -> None:
        self._bits = bits_of(widths)
        self._packs = sum(self._bits) <= BITS
        if not self._packs:
            rows = np.column_stack(columns)
            self.group, first, self._whole_slots = index_tuples(rows)
            self.known = rows[first]
            return
        keys = packed(columns, self._bits)
        self._slots = np.full(1 << max(4, (2 * keys.size).bit_length()), -1, np.int32)
        found, counts = np.empty_like(keys), np.empty_like(keys)
        size = count_keys(keys, np.ones(1, np.int64), found, counts, self._slots, 0)
        self._keys = found[:size].copy()
        self.group = find_keys(keys, self._keys, self._slots)
        self.known = np.ascontiguousarray(unpacked(self._keys, self._bits).T)

    def find(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
        """Return the number of each row's tuple, -1 for one that is not known, shape (rows,)."""
        if self._packs:
            return find_keys(packed(columns, self._bits), self._keys, self._slots)
        return find_tuples(np.column_stack(columns), self.known, self._whole_slots)

    @property
    def bits(self) -> list[int] | None:
        """The bits of each column in a key; None where tuples are compared whole."""
        return self._bits if self._packs else None
