"""Classes of a box are split as its highest levels fall; those that are then too small fail in all of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, Tuples, longest_of

MOST_CELLS = 1 << 12
"""Cells of the table in which the parts of a class are counted."""
ALL = np.int64(1 << 62)  # a Python integer would be a type of its own, and what is called with it compiled twice
"""A number of records that no class has."""
_SPARSE = 4
"""With fewer rows per cell, cells are listed as they come, instead of looking at all of them afterwards."""
_RECORDS = np.uint64((1 << 31) - 1)
"""The bits of `_Parts.held` that have the records of a part."""
_ROW = np.uint64(31)
"""The lowest bit of those that have its rows."""
_UNSAFE = np.uint64(62)
"""The lowest bit of those that tell whether a row of it has fewer records than a class must have."""


@kernel
def split_classes(
    rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Lower the highest levels of a box to those that are wanted; count what then fails in all of it.

    It may stop early, before it has reached these levels, when more than `limit` records are suppressed.
    """
    high, sums = bounds.high, bounds.sums
    while (wanted < high).any() and sums[1] <= limit:
        chosen, parts, cells = parts_of_classes(bounds.low, high, wanted, labels)
        keys, tails, counts, weights, _, starts = rows
        wide = tails.shape[0] > 0
        there = np.arange(counts.shape[0]).astype(np.uint32)
        tuples = Tuples(keys, tails, counts)
        left, left_starts, _, _, gone = split_places(
            there, starts, tuples, chosen, parts, cells, minimum, int(ALL), limit - int(sums[1]), labels
        )
        suppress(keys[gone], tails[gone] if wide else tails, counts[gone], weights[gone], bounds, labels)
        for a in chosen:
            high[a] = wanted[a]
        marks = np.zeros(left.shape[0], np.uint64)
        rows = PackedRows(keys[left], tails[left] if wide else tails, counts[left], weights[left], marks, left_starts)
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


class _Parts(NamedTuple):
    """Room for the parts of one class, used again for the next.

    Attributes
    ----------
    codes : uint32, shape (rows of the longest class,)
        The cell of each row.
    touched : uint32
        The cells that occur.
    held, later : uint64, shape (cells,)
        What a cell holds of the first half of the rows, and of the others: see `_RECORDS`, `_ROW` and `_UNSAFE`. 0
        between classes. The counts of one half do not wait for those of the other.
    position, further : uint32, shape (cells,)
        Where its next row of each half goes.
    """

    codes: NDArray[np.uint32]
    touched: NDArray[np.uint32]
    held: NDArray[np.uint64]
    later: NDArray[np.uint64]
    position: NDArray[np.uint32]
    further: NDArray[np.uint32]


@kernel
def _room_for(rows: int, cells: int) -> _Parts:
    """Make room for the parts of so many rows in so many cells."""
    return _Parts(
        np.empty(rows, np.uint32),
        np.empty(min(cells, rows) + 1, np.uint32),
        np.zeros(cells, np.uint64),
        np.zeros(cells, np.uint64),
        np.empty(cells, np.uint32),
        np.empty(cells, np.uint32),
    )


@inlined
def _held(known: np.uint64, records: np.int32, minimum: int) -> np.uint64:
    """Add a row to what a cell holds."""
    more = np.uint64(records) + (np.uint64(1) << _ROW)
    return (known + more) | (np.uint64(records < minimum) << _UNSAFE)


@inlined
def _count_parts(
    room: _Parts, places: NDArray[np.uint32], counts: NDArray[np.int32], minimum: int, cells: int
) -> np.uint64:
    """Count records and rows by the codes in `room`, below `cells`; return the number of parts."""
    codes, touched, held, later, _, _ = room
    rows = np.uint64(places.shape[0])
    half = rows >> np.uint64(1)
    kinds = np.uint64(0)
    if _SPARSE * cells > rows:
        for r in range(half):
            code = codes[r]
            touched[kinds] = code
            kinds += np.uint64(held[code] == 0)
            held[code] = _held(held[code], counts[places[r]], minimum)
        for r in range(half, rows):
            code = codes[r]
            touched[kinds] = code
            kinds += np.uint64(held[code] + later[code] == 0)
            later[code] = _held(later[code], counts[places[r]], minimum)
        return kinds
    for left in range(half):
        right = left + half
        held[codes[left]] = _held(held[codes[left]], counts[places[left]], minimum)
        later[codes[right]] = _held(later[codes[right]], counts[places[right]], minimum)
    if rows & np.uint64(1):
        last = rows - np.uint64(1)
        later[codes[last]] = _held(later[codes[last]], counts[places[last]], minimum)
    for code in range(np.uint64(cells)):
        touched[kinds] = code
        kinds += np.uint64(held[code] + later[code] != 0)
    return kinds


@kernel
def split_places(
    places: NDArray[np.uint32],
    starts: NDArray[np.int32],
    tuples: Tuples,
    chosen: NDArray[np.int64],
    parts: NDArray[np.uint32],
    cells: int,
    minimum: int,
    large: int,
    most: int,
    labels: Labels,
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint32]]:
    """Split classes of tuples by the attributes of `parts_of_classes`.

    Parameters
    ----------
    places : uint32, shape (R,)
        Where the tuples are.
    starts : int32, shape (C + 1,)
        Class c holds the tuples at `places` from `starts[c]` to `starts[c + 1] - 1`.
    large : int
        Records from which a part is large.
    most : int
        Records that may fail. When there are more, it ends, and some classes are missing.

    Returns
    -------
    uint32, int32
        Places and starts of the parts that are not large, and may have rows that fail.
    uint32, int32
        Those of the large ones.
    uint32
        The places of what fails.
    """
    size = places.shape[0]
    # the parts that stay fill the first half from both its ends, what fails and what cannot fail the other one
    found = np.empty(2 * size, np.uint32)
    end, back, gone, safe = 0, size, size, 2 * size
    # a class that is kept has two tuples at least
    small_starts = np.empty(size // 2 + 2, np.int32)
    large_starts = np.empty(size // 2 + 2, np.int32)
    smaller = larger = 0
    room = _room_for(longest_of(starts), cells)
    codes, touched, held, later, position, further = room
    failing = 0
    for c in range(starts.shape[0] - 1):
        inside = places[starts[c] : starts[c + 1]]
        for i in range(chosen.shape[0]):
            words = tuples.keys if labels.places[chosen[i], 0] == 0 else tuples.tails
            shift = np.uint64(labels.places[chosen[i], 1])
            mask = labels.masks[chosen[i]]
            part = parts[i]
            if i == 0:
                for r in range(inside.shape[0]):
                    codes[r] = part[(words[inside[r]] >> shift) & mask]
            else:
                for r in range(inside.shape[0]):
                    codes[r] += part[(words[inside[r]] >> shift) & mask]
        if chosen.shape[0] == 0:
            codes[: inside.shape[0]] = 0
        kinds = _count_parts(room, inside, tuples.counts, minimum, cells)
        for i in range(kinds):
            code = touched[i]
            known = held[code] + later[code]
            records, number = int(known & _RECORDS), int((known >> _ROW) & _RECORDS)
            if records < minimum:
                failing += records
                at = gone
                gone += number
            elif not known >> _UNSAFE:
                safe -= number
                at = safe
            elif records >= large:
                back -= number
                at = back
                large_starts[larger] = back
                larger += 1
            else:
                at = end
                small_starts[smaller] = end
                smaller += 1
                end += number
            position[code] = at
            further[code] = at + int((held[code] >> _ROW) & _RECORDS)
            held[code] = later[code] = 0
        rows = np.uint64(inside.shape[0])
        half = rows >> np.uint64(1)
        for left in range(half):
            right = left + half
            found[np.uint64(position[codes[left]])] = inside[left]
            position[codes[left]] += np.uint32(1)
            found[np.uint64(further[codes[right]])] = inside[right]
            further[codes[right]] += np.uint32(1)
        if rows & np.uint64(1):
            last = rows - np.uint64(1)
            found[np.uint64(further[codes[last]])] = inside[last]
        if failing > most:
            break
    small_starts[smaller] = end
    ends = np.empty(larger + 1, np.int32)
    for c in range(larger):
        ends[c] = large_starts[larger - 1 - c] - back
    ends[larger] = size - back
    return found[:end], small_starts[: smaller + 1].copy(), found[back:size].copy(), ends, found[size:gone]


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
