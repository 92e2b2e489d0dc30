"""A hash of records in any order: each is expanded to 1,024 numbers of 32 bits, and the numbers are added up.

In: records as bytes or texts of Arrow, batch by batch. Out: the sums, modulo 2**32; they do not grow with the records.
Two collections of records with the same sums are as hard to find as short vectors in a lattice. A record is expanded by
SHAKE128.

M. Bellare, D. Micciancio: A new paradigm for collision-free hashing: incrementality at reduced cost. EUROCRYPT 1997,
163-192. K. Lewi, W. Kim, I. Maykov, S. Weis: Securing update propagation with homomorphic hashing. IACR ePrint
2019/227 (LtHash).
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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

    def add(self, records: pa.LargeBinaryArray, times: NDArray[np.int64]) -> None:
        """Add records.

        Parameters
        ----------
        records : LargeBinaryArray or LargeStringArray of n records
            None is missing.
        times : int64, shape (n,)
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
        longest = int(np.argmax(pc.binary_length(records).to_numpy()))
        some, often = records.take(pa.array([0, len(records) // 2, longest])), np.arange(1, 4)
        if not np.array_equal(_compiled(some, often), _expanded(some, often)):
            raise InvalidData(
                "records: their hashes are not those of the standard library; remove the compiled kernels (the folder "
                "NUMBA_CACHE_DIR, or __pycache__ of engine/kernels), and run again"
            )

    def to_bytes(self) -> bytes:
        """Return the 4,096 bytes of the sums of all records so far, each number with its lowest byte first."""
        return self._sums.astype("<u4").tobytes()


def _expanded(records: pa.LargeBinaryArray, times: NDArray[np.int64]) -> NDArray[np.uint32]:
    sums = np.zeros(NUMBERS, np.uint32)
    for record, often in zip(records.cast(pa.large_binary()).to_pylist(), times.tolist(), strict=True):
        wide = hashlib.shake_128(record).digest(4 * NUMBERS)
        sums += np.frombuffer(wide, "<u4") * np.uint32(often % 2**32)
    return sums


def _compiled(records: pa.LargeBinaryArray, times: NDArray[np.int64]) -> NDArray[np.uint32]:
    from engine.kernels.shake128 import add_expanded  # noqa: PLC0415 (few records do without numba)

    _, starts, data = records.buffers()
    there = np.frombuffer(starts, np.int64)[records.offset : records.offset + len(records) + 1]
    # copies, which may be written: the kernel would be compiled again for arrays that may only be read
    offsets = there - there[0]
    held = np.frombuffer(data or b"", np.uint8)[there[0] : there[-1]].copy()
    sums = np.zeros(NUMBERS, np.uint32)
    order = np.argsort(np.diff(offsets), kind="stable")
    add_expanded(offsets, held, order, (times % 2**32).astype(np.uint32), sums)
    return sums
