"""Classes of a box are split as its highest levels fall; those that are then too small fail in all of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, shrunk

MOST_CELLS = 1 << 12
"""Cells of the table in which the parts of a class are counted."""
ALL = np.int64(1 << 62)  # a Python integer would be a type of its own, and what is called with it compiled twice
"""A number of records that no class has."""
SAFE = -1
FAILS = -2
"""Positions of the parts of which no row can fail, and of those of which every row does."""
RECORDS = (1 << 32) - 1
"""The half of a word that has the records of a part."""


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
        The cells that occur, in the order in which they do.
    held : int64, shape (cells,)
        Of a cell that occurs the records in the lower half of the word, the rows in the upper one; 0 between classes.
    unsafe : int32, shape (cells,)
        Its rows with fewer records than a class must have; 0 between classes.
    position : int32, shape (cells,)
        Where its next row goes, or `SAFE` or `FAILS`.
    """

    codes: NDArray[np.uint32]
    touched: NDArray[np.uint32]
    held: NDArray[np.int64]
    unsafe: NDArray[np.int32]
    position: NDArray[np.int32]


@kernel
def room_for(starts: NDArray[np.int32], cells: int) -> Parts:
    """Make room for the parts of the longest of some classes."""
    longest = 0
    for c in range(starts.shape[0] - 1):
        longest = max(longest, starts[c + 1] - starts[c])
    return Parts(
        np.empty(longest, np.uint32),
        np.empty(min(cells, longest) + 1, np.uint32),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.int32),
        np.empty(cells, np.int32),
    )


@inlined
def count_parts(
    room: Parts,
    keys: NDArray[np.uint64],
    tails: NDArray[np.uint64],
    counts: NDArray[np.int32],
    chosen: NDArray[np.int64],
    parts: NDArray[np.uint32],
    minimum: int,
    labels: Labels,
) -> np.uint64:
    """Split one class by what `parts_of_classes` gives; return the number of its parts."""
    codes, touched, held, unsafe, _ = room
    for i in range(chosen.shape[0]):
        words = keys if labels.places[chosen[i], 0] == 0 else tails
        shift = np.uint64(labels.places[chosen[i], 1])
        mask = labels.masks[chosen[i]]
        part = parts[i]
        if i == 0:
            for r in range(counts.shape[0]):
                codes[r] = part[(words[r] >> shift) & mask]
        else:
            for r in range(counts.shape[0]):
                codes[r] += part[(words[r] >> shift) & mask]
    if chosen.shape[0] == 0:
        codes[: counts.shape[0]] = 0
    kinds = np.uint64(0)
    for r in range(counts.shape[0]):
        code = codes[r]
        known = held[code]
        touched[kinds] = code
        kinds += np.uint64(known == 0)
        held[code] = known + (np.int64(1) << 32) + counts[r]
        unsafe[code] += counts[r] < minimum
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
    room = room_for(starts, cells)
    codes, touched, held, unsafe, position = room
    dropped = np.empty(keys.shape[0], np.uint32)
    drops = np.uint64(0)
    failing = np.int64(0)
    classes = 0
    end = 0
    for c in range(starts.shape[0] - 1):
        begin = starts[c]
        stop = starts[c + 1]
        inside = slice(begin, stop)
        kinds = count_parts(room, keys[inside], tails[inside], counts[inside], chosen, parts, minimum, labels)
        whole = kinds == 1
        for i in range(kinds):
            code = touched[i]
            if held[code] & RECORDS < minimum:
                position[code] = FAILS
                whole = False
            elif unsafe[code] > 0:
                found_starts[classes] = end
                classes += 1
                position[code] = end
                end += held[code] >> 32
            else:
                position[code] = SAFE
                whole = False
            held[code] = 0
            unsafe[code] = 0
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
