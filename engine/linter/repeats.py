"""Whether an identifying column repeats: whether some two records of a table have the same value in it.

In: a table. Out: for each column yes, no, or not known. The reading stops when every answer is yes. Memory is bounded:
hashes are compared up to `MOST`, and of a column with more the others in a further reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.linter.values import hashes
from engine.tables.sources.table import Table

MOST = 1 << 24
"""Hashes of a column that are held at once: 128 MiB, twice that for a moment while they are sorted."""
_FIRST = 1 << 18
_END = 1 << 64


def repeating(table: Table, columns: Sequence[str], most: int = MOST) -> Mapping[str, bool | None]:
    """Tell of each column whether it repeats; None if it cannot be read.

    A missing value and an empty text repeat nothing.
    """
    return {name: _repeats_if_known(table, name, most) for name in columns}


def _repeats_if_known(table: Table, name: str, most: int) -> bool | None:
    try:
        return _repeats(table, name, most)
    except InvalidData:
        # nobody else reads the column, so what it holds is no reason to end the run
        return None


def _repeats(table: Table, name: str, most: int) -> bool:
    low = 0
    while low < _END:
        seen = _Seen(low, most)
        for batch in table.batches([name]):
            values, there = hashes(batch.column(0), name)
            if seen.repeats(values[there]):
                return True
        if seen.is_repeated():
            return True
        low = seen.end
    return False


class _Seen:
    """The hashes from `low` up to `end`, which comes down where there are too many of them."""

    def __init__(self, low: int, most: int) -> None:
        self._low = low
        self.end = _END
        self._most = most
        self._sorted = np.empty(0, np.uint64)
        self._waiting: list[NDArray[np.uint64]] = []
        self._waits = 0

    def repeats(self, values: NDArray[np.uint64]) -> bool:
        """Take further hashes, and tell whether one repeats as far as they have been compared."""
        values = np.sort(self._within(values))
        if _has_equal(values):
            return True
        self._waiting.append(values)
        self._waits += values.size
        # twice as many each time, so that sorting stays cheap
        return self._waits > max(_FIRST, self._sorted.size) and self.is_repeated()

    def is_repeated(self) -> bool:
        """Compare all hashes taken so far."""
        merged = np.sort(np.concatenate([self._sorted, *self._waiting]), kind="stable")
        self._waiting, self._waits = [], 0
        if _has_equal(merged):
            return True
        if merged.size > self._most:
            self.end = int(merged[self._most])
            merged = merged[: self._most]
        self._sorted = merged
        return False

    def _within(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        if self._low:
            values = values[values >= np.uint64(self._low)]
        return values if self.end == _END else values[values < np.uint64(self.end)]


def _has_equal(ascending: NDArray[np.uint64]) -> bool:
    return bool((ascending[1:] == ascending[:-1]).any())
