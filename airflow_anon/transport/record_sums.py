"""The sums of records by which earlier versions hashed the content of a table; what they wrote is compared by them.

In: records as texts of Arrow, batch by batch. Out: each is expanded by SHAKE128 to 1,024 numbers of 32 bits, and these
are added up modulo 2**32.

M. Bellare, D. Micciancio: A new paradigm for collision-free hashing: incrementality at reduced cost. EUROCRYPT 1997,
163-192. K. Lewi, W. Kim, I. Maykov, S. Weis: Securing update propagation with homomorphic hashing. IACR ePrint
2019/227 (LtHash).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS = 1_024


class RecordSums:
    """The sums of the expansions of records."""

    def __init__(self) -> None:
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        self._sums = np.zeros(_NUMBERS, np.uint32)

    def add(self, records: pa.Array) -> None:
        """Add records, a LargeStringArray without a missing one."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        counted = records.value_counts()
        for record, times in zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True):
            wide = hashlib.shake_128(record.encode()).digest(4 * _NUMBERS)
            self._sums += np.frombuffer(wide, "<u4") * np.uint32(times % 2**32)

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes of the sums of all records, each number with its lowest byte first."""
        yield self._sums.astype("<u4").tobytes()
