"""A hash of records in any order: each is expanded to 1,024 numbers of 32 bits, and the numbers are added up.

In: records as bytes, batch by batch. Out: the sums, modulo 2**32; they do not grow with the records. Two collections of
records with the same sums are as hard to find as short vectors in a lattice. A record is expanded by SHAKE128.

M. Bellare, D. Micciancio: A new paradigm for collision-free hashing: incrementality at reduced cost. EUROCRYPT 1997,
163-192. K. Lewi, W. Kim, I. Maykov, S. Weis: Securing update propagation with homomorphic hashing. IACR ePrint
2019/227 (LtHash).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData

NUMBERS = 1_024
"""Numbers of 32 bits of an expansion."""
_FEW = 64
"""Records below which the kernel does not pay: loading it, and numba, takes longer."""


class RecordSums:
    """The sums of the expansions of records."""

    def __init__(self) -> None:
        self._sums = np.zeros(NUMBERS, np.uint32)

    def add(self, records: Sequence[bytes], times: Sequence[int]) -> None:
        """Add records.

        Parameters
        ----------
        records : sequence of bytes
        times : sequence of int
            How often each occurs, at least 0.

        Raises
        ------
        InvalidData
            The compiled kernel does not hash as the standard library does.
        """
        if len(records) < _FEW:
            self._sums += _expanded(records, times)
            return
        self._sums += _compiled(records, times)
        some = [records[0], records[len(records) // 2], max(records, key=len)]
        if not np.array_equal(_compiled(some, [1, 2, 3]), _expanded(some, [1, 2, 3])):
            raise InvalidData(
                "records: their hashes are not those of the standard library; remove the compiled kernels (the folder "
                "NUMBA_CACHE_DIR, or __pycache__ of engine/kernels), and run again"
            )

    def to_bytes(self) -> bytes:
        """Return the 4,096 bytes of the sums of all records so far, each number with its lowest byte first."""
        return self._sums.astype("<u4").tobytes()


def _expanded(records: Sequence[bytes], times: Sequence[int]) -> NDArray[np.uint32]:
    sums = np.zeros(NUMBERS, np.uint32)
    for record, often in zip(records, times, strict=True):
        wide = hashlib.shake_128(record).digest(4 * NUMBERS)
        sums += np.frombuffer(wide, "<u4") * np.uint32(often % 2**32)
    return sums


def _compiled(records: Sequence[bytes], times: Sequence[int]) -> NDArray[np.uint32]:
    from engine.kernels.shake128 import add_expanded  # noqa: PLC0415 (few records do without numba)

    lengths = np.fromiter(map(len, records), np.int64, len(records))
    offsets = np.zeros(len(records) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    often = (np.fromiter(times, np.int64, len(records)) % 2**32).astype(np.uint32)
    sums = np.zeros(NUMBERS, np.uint32)
    # an array that may be written, since a read-only one would be compiled for again
    data = np.frombuffer(bytearray().join(records), np.uint8)
    add_expanded(offsets, data, np.argsort(lengths, kind="stable"), often, sums)
    return sums
