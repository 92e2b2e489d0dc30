"""Classes of a box are split as its highest levels fall; those that are then too small fail in all of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, longest_of, shrunk

MOST_CELLS = 1 << 12
"""Cells of the table in which the parts of a class are counted."""
ALL = np.int64(1 << 62)  # a Python integer would be a type of its own, and what is called with it compiled twice
"""A number of records that no class has."""
_SPARSE = 4
"""With fewer rows per cell, cells are listed as they come, instead of looking at all of them afterwards."""
SAFE = -1
FAILS = -2
"""Positions of the parts of which no row can fail, and of those of which every row does."""
RECORDS = np.uint64((1 << 31) - 1)
"""The bits of `Parts.held` that have the records of a part."""
ROW = np.uint64(31)
"""The lowest bit of those that have its rows."""
UNSAFE = np.uint64(62)
"""The lowest bit of those that tell whether a row of it has fewer records than a class must have."""


@kernel
def split_classes(
    rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Lower the highest levels of a box to those that are wanted; count what then fails in all of it.

    It may stop early, before it has reached these levels, when more than `limit` records are suppressed.
    """
    while (wanted < bounds.high).any() and bounds.sums[1] <= limit:
        rows = _split(rows, bounds, wanted, minimum, limit, labels)
    return rows


@kernel
def parts_of_classes(
    low: NDArray[np.int64], high: NDArray[np.int64], wanted: NDArray[np.int64], labels: Labels
) -> tuple[NDArray[np.int64], NDArray[np.uint32], int]:
    """Choose attributes whose highest levels fall, as many as one table of cells has room for.

    Parameters
    ----------
    low : int64, shape (m,)
        Levels of the codes.
    high, wanted : int64, shape (m,)
        Highest levels before, and after.

    Returns
    -------
    int64, shape (c,)
        The attributes.
    uint32, shape (c, labels)
        What the code of each adds to the number of the cell.
    int
        Cells.
    """
    widths = labels.widths
    chosen = np.empty(low.shape[0], np.int64)
    number = 0
    cells = 1
    for a in range(low.shape[0]):
        if wanted[a] < high[a] and (number == 0 or cells * widths[a, wanted[a]] <= MOST_CELLS):
            chosen[number] = a
            cells *= widths[a, wanted[a]]
            number += 1
    parts = np.empty((number, np.max(widths)), np.uint32)
    stride = np.int64(1)
    for i in range(number):
        a = chosen[i]
        for label in range(widths[a, low[a]]):
            parts[i, label] = labels.ups[labels.ups_at[a, low[a], wanted[a]] + label] * stride
        stride *= widths[a, wanted[a]]
    return chosen[:number], parts, cells


class Parts(NamedTuple):
    """Room for the parts of one class, used again for the next.

    Attributes
    ----------
    codes : uint32, shape (rows of the longest class,)
        The cell of each row.
    touched : uint32
        The cells that occur.
    held, other : uint64, shape (cells,)
        What a cell holds: see `RECORDS`, `ROW` and `UNSAFE`. `other` has a part of it while a class is counted. 0
        between classes.
    position : int32, shape (cells,)
        Where its next row goes, or `SAFE` or `FAILS`.
    """

    codes: NDArray[np.uint32]
    touched: NDArray[np.uint32]
    held: NDArray[np.uint64]
    other: NDArray[np.uint64]
    position: NDArray[np.int32]


@kernel
def room_for(rows: int, cells: int) -> Parts:
    """Make room for the parts of so many rows in so many cells."""
    return Parts(
        np.empty(rows, np.uint32),
        np.empty(min(cells, rows) + 1, np.uint32),
        np.zeros(cells, np.uint64),
        np.zeros(cells, np.uint64),
        np.empty(cells, np.int32),
    )


@inlined
def _held(known: np.uint64, records: np.int32, minimum: int) -> np.uint64:
    """Add a row to what a cell holds."""
    more = np.uint64(records) + (np.uint64(1) << ROW)
    return (known + more) | (np.uint64(records < minimum) << UNSAFE)


@inlined
def count_parts(room: Parts, counts: NDArray[np.int32], minimum: int, cells: int) -> np.uint64:
    """Count records and rows by the codes in `room`, below `cells`; return the number of parts."""
    codes, touched, held, other, _ = room
    one = np.uint64(1)
    rows = np.uint64(counts.shape[0])
    kinds = np.uint64(0)
    if _SPARSE * cells > rows:
        for r in range(rows):
            code = codes[r]
            known = held[code]
            touched[kinds] = code
            kinds += np.uint64(known == 0)
            held[code] = _held(known, counts[r], minimum)
        return kinds
    # two tables take turns, so the counts of neighbouring rows do not wait for each other
    for pair in range(rows >> one):
        left = pair << one
        right = left + one
        held[codes[left]] = _held(held[codes[left]], counts[left], minimum)
        other[codes[right]] = _held(other[codes[right]], counts[right], minimum)
    if rows & one:
        left = rows - one
        held[codes[left]] = _held(held[codes[left]], counts[left], minimum)
    for code in range(np.uint64(cells)):
        held[code] += other[code]
        other[code] = 0
        touched[kinds] = code
        kinds += np.uint64(held[code] != 0)
    return kinds


@kernel
def suppress(
    keys: NDArray[np.uint64],
    tails: NDArray[np.uint64],
    counts: NDArray[np.int32],
    weights: NDArray[np.int64],
    bounds: Bounds,
    labels: Labels,
) -> None:
    """Count rows, at the lowest levels of a box, that fail in all of it."""
    low, high, sums, rises, _ = bounds
    for r in range(counts.shape[0]):
        sums[0] += weights[r]
        sums[1] += counts[r]
    for b in range(low.shape[0]):
        # further generalization does not change the cost of suppressed records
        if counts.shape[0] and low[b] < high[b]:
            words = keys if labels.places[b, 0] == 0 else tails
            shift = np.uint64(labels.places[b, 1])
            mask = labels.masks[b]
            lost = np.zeros(labels.widths[b, low[b]], np.int64)
            for r in range(counts.shape[0]):
                lost[(words[r] >> shift) & mask] += counts[r]
            for label in range(lost.shape[0]):
                if lost[label]:
                    now = labels.more[labels.more_at[b, low[b]] + label]
                    for level in range(low[b] + 1, high[b] + 1):
                        higher = labels.ups[labels.ups_at[b, low[b], level] + label]
                        rises[b, level] += lost[label] * (labels.more[labels.more_at[b, level] + higher] - now)


@kernel
def _split(
    rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Split the classes by as many attributes as one table of cells has room for.

    It ends when more than `limit` records are suppressed; some classes are missing then.
    """
    keys, tails, counts, weights, _, starts = rows
    high, sums = bounds.high, bounds.sums
    wide = tails.shape[0] > 0
    chosen, parts, cells = parts_of_classes(bounds.low, high, wanted, labels)
    found_keys = np.empty_like(keys)
    found_tails = np.empty_like(tails)
    found_counts = np.empty_like(counts)
    found_weights = np.empty_like(weights)
    # a class that is kept has two rows at least
    found_starts = np.empty(keys.shape[0] // 2 + 2, np.int32)
    room = room_for(longest_of(starts), cells)
    codes, touched, held, _, position = room
    dropped = np.empty(keys.shape[0], np.uint32)
    drops = np.uint64(0)
    failing = np.int64(0)
    classes = 0
    end = 0
    for c in range(starts.shape[0] - 1):
        begin = starts[c]
        stop = starts[c + 1]
        for i in range(chosen.shape[0]):
            words = (keys if labels.places[chosen[i], 0] == 0 else tails)[begin:stop]
            shift = np.uint64(labels.places[chosen[i], 1])
            mask = labels.masks[chosen[i]]
            part = parts[i]
            if i == 0:
                for r in range(words.shape[0]):
                    codes[r] = part[(words[r] >> shift) & mask]
            else:
                for r in range(words.shape[0]):
                    codes[r] += part[(words[r] >> shift) & mask]
        kinds = count_parts(room, counts[begin:stop], minimum, cells)
        whole = kinds == 1
        for i in range(kinds):
            code = touched[i]
            if np.int64(held[code] & RECORDS) < minimum:
                position[code] = FAILS
                whole = False
            elif held[code] >> UNSAFE:
                found_starts[classes] = end
                classes += 1
                position[code] = end
                end += int((held[code] >> ROW) & RECORDS)
            else:
                position[code] = SAFE
                whole = False
            held[code] = 0
        if whole:
            at = np.int64(position[touched[0]])
            to = at + (stop - begin)
            found_keys[at:to] = keys[begin:stop]
            if wide:
                found_tails[at:to] = tails[begin:stop]
            found_counts[at:to] = counts[begin:stop]
            found_weights[at:to] = weights[begin:stop]
            continue
        first = np.uint64(begin)
        for r in range(first, np.uint64(stop)):
            code = codes[r - first]
            at = np.int64(position[code])
            if at >= 0:
                position[code] = at + 1
                found_keys[at] = keys[r]
                if wide:
                    found_tails[at] = tails[r]
                found_counts[at] = counts[r]
                found_weights[at] = weights[r]
            elif at == FAILS:
                dropped[drops] = r
                drops += np.uint64(1)
                failing += counts[r]
        if sums[1] + failing > limit:
            break
    found_starts[classes] = end
    gone = dropped[:drops]
    suppress(keys[gone], tails[gone] if wide else tails, counts[gone], weights[gone], bounds, labels)
    for a in chosen:
        high[a] = wanted[a]
    return PackedRows(
        shrunk(found_keys[:end], found_keys),
        shrunk(found_tails[:end], found_tails) if wide else tails,
        shrunk(found_counts[:end], found_counts),
        shrunk(found_weights[:end], found_weights),
        np.zeros(end, np.uint64),
        shrunk(found_starts[: classes + 1], found_starts),
    )
