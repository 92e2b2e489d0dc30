"""The order of a released table: by equivalence class, and at random within a class.

In: the columns that are released as they are, batch by batch in the order of the source, and the place of each record's
class among all classes, sorted by their labels. Out: the same records with their places, in an order that tells nothing
but these labels. The order of the source would
tell more: in a table sorted by age, the neighbours of a record tell its age, and last night's file tells who left.
Random numbers come from the operating system. Memory holds one part of the table; the others wait in files.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.arrow_arrays import numbers_of, of_numbers
from engine.kernels.shuffled import shuffled

MOST = 1 << 18
"""Records of a part, on average; one of a class that has more is about as large."""
PART_BYTES = 1 << 26
"""Of a part, about, by what the first records take: one of long texts or of many columns has fewer records."""
FILES = 512
"""Parts at most, as long as classes are small: each is an open file. Those of a very large table are larger."""

Placed = tuple[pa.RecordBatch, NDArray[np.int64]]
"""Records and the place of each one's class, int64, shape (records,).

A batch without columns does not know how many they are."""


class _Part(Protocol):
    def add(self, batch: pa.RecordBatch) -> None:
        """Add records; the last column is their place."""

    def close(self) -> pa.Table:
        """Return all of them."""


def in_release_order(
    batches: Iterable[Placed], sizes: NDArray[np.int64], schema: pa.Schema, folder: Path | None, most: int = MOST
) -> Iterator[Placed]:
    """Yield records by class, at random within a class, with the places of their classes.

    Parameters
    ----------
    batches : iterable of record batches of `schema` with the places of their classes
    sizes : int64, shape (C,)
        Records of each class, in the order of the places.
    folder : path, optional
        Where parts that wait are kept, in a private folder that is removed at the end. Without it they are kept in
        memory.
    most : int
        Records of a part.
    """
    if not schema.names:
        yield from _by_size(batches, sizes, schema, most)
        return
    batches = (one for one in batches if one[0].num_rows)
    begun = next(batches, None)
    if begun is not None:
        batches = itertools.chain([begun], batches)
        most = max(1, min(most, PART_BYTES * begun[0].num_rows // max(1, begun[0].nbytes)))
    first, width = _parts(sizes, max(most, int(sizes.sum()) // FILES))
    with ExitStack() as stack:
        place = pa.field("", pa.int64(), nullable=False)
        stored = pa.schema([*schema, place])
        parts: list[_Part]
        number = int(width.sum() if first.size == 0 else first[-1] + width[-1])
        if folder is None or number <= 1:
            parts = [_Memory(stored) for _ in range(number)]
        else:
            waiting = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".order-", dir=folder)))
            parts = [_File(stored, waiting / str(part)) for part in range(number)]
        for batch, places in batches:
            _distribute(batch, places, first, width, parts, stored)
        for part in parts:
            table = part.close()
            chunks = table.column(table.num_columns - 1).chunks
            places = np.concatenate([np.empty(0, np.int64), *map(numbers_of, chunks)])
            order = _shuffled(places)
            ordered = table.select(range(table.num_columns - 1)).take(of_numbers(order)).combine_chunks()
            places = places[order]
            # no part is held beside the one that follows
            del table, order
            start = 0
            for batch in ordered.to_batches():
                yield batch, places[start : start + batch.num_rows]
                start += batch.num_rows
                del batch
            del ordered, places


def _by_size(batches: Iterable[Placed], sizes: NDArray[np.int64], schema: pa.Schema, most: int) -> Iterator[Placed]:
    """Yield records that have no columns: they are told by the sizes of the classes alone."""
    for _ in batches:
        pass
    ends = np.cumsum(sizes)
    for start in range(0, int(sizes.sum()), most):
        end = min(start + most, int(ends[-1]))
        inside = np.clip(ends, start, end) - np.clip(ends - sizes, start, end)
        yield pa.RecordBatch.from_arrays([], schema=schema), np.repeat(np.arange(sizes.size), inside)


def _shuffled(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order by place, at random where places are equal, shape (records,)."""
    if not places.size:
        return np.empty(0, np.int64)
    lowest = int(places.min())
    return shuffled(places, lowest, int(places.max()) - lowest + 1, random_numbers(places.size))


def _parts(sizes: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first part of each class and its number of parts, int64, shape (C,): small classes share one."""
    width = np.maximum(1, -(-sizes // most))
    first = np.zeros(sizes.size, np.int64)
    part, filled = 0, 0
    for place, size in enumerate(sizes.tolist()):
        if place and (filled + size > most or width[place - 1] > 1):
            part, filled = int(first[place - 1] + width[place - 1]), 0
        first[place] = part
        filled += size
    return first, width


def _distribute(
    batch: pa.RecordBatch,
    places: NDArray[np.int64],
    first: NDArray[np.int64],
    width: NDArray[np.int64],
    parts: list[_Part],
    stored: pa.Schema,
) -> None:
    whole = pa.RecordBatch.from_arrays([*batch.columns, of_numbers(places)], schema=stored)
    if len(parts) <= 1:
        for part in parts:
            part.add(whole)
        return
    chosen = first[places]
    if width.max() > 1:
        # a class of several parts: which of them a record goes to is as random as its place there
        chosen += (random_numbers(places.size) % width[places].astype(np.uint64)).astype(np.int64)
    # parts are few (`FILES`), and numbers of 16 bits are sorted without comparing them
    order = np.argsort(chosen.astype(np.uint16), kind="stable")
    sorted_batch, ends = whole.take(of_numbers(order)), np.cumsum(np.bincount(chosen, minlength=len(parts)))
    start = 0
    for part, end in zip(parts, ends.tolist(), strict=True):
        if end > start:
            part.add(sorted_batch.slice(start, end - start))
        start = end


def random_numbers(number: int) -> NDArray[np.uint64]:
    """Return random numbers from the operating system, shape (number,)."""
    return np.frombuffer(os.urandom(8 * number), np.uint64)


class _Memory:
    """A part that waits in memory."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)

    def close(self) -> pa.Table:
        batches, self._batches = self._batches, []
        return pa.Table.from_batches(batches, self._schema)


class _File:
    """A part that waits in a file."""

    def __init__(self, schema: pa.Schema, path: Path) -> None:
        self._path = path
        self._writer = pa.ipc.new_stream(path, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> pa.Table:
        self._writer.close()
        with pa.ipc.open_stream(self._path) as reader:
            table = reader.read_all()
        self._path.unlink()
        return table
