"""The row groups of a released file: cut by the records of the file alone.

In: records of a release in their order, in batches that follow from how the source was read. Out: the same records in
batches that are row groups. Row groups that were batches of the source would tell of it: how long the texts of its
first records are, or that all of these are left out. Memory holds two row groups beside one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.arrow_arrays import filled, numbers_of, of_numbers
from engine.tables.release.one_batch import one_batch
from engine.tables.release.release_order import MOST, Placed

ROW_GROUP_BYTES = 1 << 24
"""Of a row group in memory, about."""
_WORD = 8
"""Bytes of a value, about; a text has its own beside them."""
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def in_row_groups(placed: Iterable[Placed], most: int = MOST, size: int = ROW_GROUP_BYTES) -> Iterator[Placed]:
    """Yield the same records, one row group after the other.

    Parameters
    ----------
    most : int
        Records of a row group.
    size : int
        Bytes after which a row group ends, about.
    """
    waiting: list[Placed] = []
    group = start = 0
    for batch, places in placed:
        # so much at least that no row group has more than `most` records
        weights = np.maximum(-(-size // most), _bytes(batch, places.size))
        groups = (start + np.cumsum(weights) - weights) // size
        begins = np.flatnonzero(np.diff(groups, prepend=group)).tolist()
        for number, (begin, end) in enumerate(pairwise([0, *begins, places.size])):
            if number and waiting:
                yield _joined(waiting)
                waiting = []
            if end > begin:
                # without columns a batch does not know how many records it has
                waiting.append((batch.slice(begin, end - begin) if batch.num_columns else batch, places[begin:end]))
        start += int(weights.sum())
        group = int(groups[-1]) if groups.size else group
        # a slice would hold its whole batch while the next one is made
        waiting = [_copied(waiting)] if waiting else []
        del batch, places
    if waiting:
        yield _joined(waiting)


def _bytes(batch: pa.RecordBatch, records: int) -> NDArray[np.int64]:
    """Return the bytes of each record, int64, shape (records,)."""
    found = np.full(records, _WORD * batch.num_columns, np.int64)
    for column in batch.columns:
        if any(is_text(column.type) for is_text in _TEXTS):
            found += numbers_of(filled(pc.binary_length(column), 0))
    return found


def _copied(parts: list[Placed]) -> Placed:
    batch, places = _joined(parts)
    return (batch.take(of_numbers(np.arange(batch.num_rows))) if batch.num_columns else batch), places


def _joined(parts: list[Placed]) -> Placed:
    return one_batch([batch for batch, _ in parts]), np.concatenate([places for _, places in parts])
