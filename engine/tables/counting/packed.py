"""Tuples of codes as one integer each: every column has some of its bits.

In: columns of codes. Out: keys, and back. The first column has the highest bits, so keys sort as tuples do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BITS = 63
"""Most bits of a key."""


def bits_of(widths: Sequence[int]) -> list[int]:
    """Return the bits that columns with so many codes need."""
    return [max(1, (width - 1).bit_length()) for width in widths]


def packed(columns: Sequence[NDArray[np.int32]], bits: Sequence[int]) -> NDArray[np.int64]:
    """Return the key of each row, shape (rows,); the bits are at most `BITS` in all."""
    keys = np.zeros(columns[0].size, np.int64)
    for column, width in zip(columns, bits, strict=True):
        keys <<= width
        keys |= column
    return keys


def unpacked(keys: NDArray[np.int64], bits: Sequence[int]) -> NDArray[np.int32]:
    """Return the codes of keys, shape (columns, rows)."""
    codes = np.empty((len(bits), keys.size), np.int32)
    rest = keys.copy()
    for place, width in reversed(list(enumerate(bits))):
        codes[place] = rest & ((1 << width) - 1)
        rest >>= width
    return codes
