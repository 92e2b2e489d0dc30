"""A table as a stream that can be read several times: record batches of Arrow, in the order of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

BATCH_ROWS = 1 << 17
"""Most rows of a batch."""


class Table(Protocol):
    """A stream of record batches."""

    @property
    def schema(self) -> pa.Schema:
        """Columns and types."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the wanted columns from the start.

        Raises
        ------
        InvalidData
            The file is damaged, or another one than when it was opened; or a column has text that is not UTF-8.
        """
