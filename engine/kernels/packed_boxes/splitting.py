"""Classes of a box are split as its highest levels fall; those that are then too small fail in all of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, shrunk

MOST_CELLS = 1 << 12
"""Cells of the table in which the parts of a class are counted."""
ALL = np.int64(1 << 62)  # a Python integer would be a type of its own, and what is called with it compiled twice
"""A number of records that no class has."""
_SAFE = -1
_FAILS = -2


@kernel
def split_classes(
    rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Lower the highest levels of a box to those that are wanted; count what then fails in all of it.

    It may stop early, before it has reached these levels, when more than `limit` records are suppressed.
    """
    while (wanted < bounds.high).any() and bounds.sums[1] <= limit:
        rows, _ = split(rows, bounds, wanted, minimum, ALL, limit, labels)
    return rows


@kernel
def split(
    rows: PackedRows,
    bounds: Bounds,
    wanted: NDArray[np.int64],
    minimum: int,
    large: int | np.int64,
    limit: int,
    labels: Labels,
) -> tuple[PackedRows, PackedRows]:
    """Split the classes by as many attributes as one table of cells has room for.

    Return the classes with fewer than `large` records, and the others. It ends when more than `limit` records are
    suppressed; some classes are missing then.
    """
    keys, tails, counts, weights, _, starts = rows
    low, high, sums, rises, _ = bounds
    places, masks, widths, more, more_at, ups, ups_at, _ = labels
    attributes = low.shape[0]
    wide = tails.shape[0] > 0
    chosen = np.empty(attributes, np.int64)
    number = 0
    cells = 1
    longest = 0
    for a in range(attributes):
        if wanted[a] < high[a] and (number == 0 or cells * widths[a, wanted[a]] <= MOST_CELLS):
            chosen[number] = a
            cells *= widths[a, wanted[a]]
            number += 1
    for c in range(starts.shape[0] - 1):
        longest = max(longest, starts[c + 1] - starts[c])
    found_keys = np.empty_like(keys)
    found_tails = np.empty_like(tails)
    found_counts = np.empty_like(counts)
    found_weights = np.empty_like(weights)
    # a class that is kept has two rows at least
    found_starts = np.empty(keys.shape[0] // 2 + 2, np.int32)
    larger_starts = np.empty(keys.shape[0] // 2 + 2, np.int32)
    parts = np.empty(np.max(widths) * number, np.int32)
    offset = np.max(widths)
    stride = 1
    for i in range(number):
        a = chosen[i]
        for label in range(widths[a, low[a]]):
            parts[i * offset + label] = ups[ups_at[a, low[a], wanted[a]] + label] * stride
        stride *= widths[a, wanted[a]]
    codes = np.empty(longest, np.int32)
    # records in the lower half of a word, rows in the upper one
    held = np.zeros(cells, np.int64)
    one = np.int64(1) << 32
    unsafe = np.zeros(cells, np.int32)
    position = np.empty(cells, np.int32)
    touched = np.empty(min(cells, longest) + 1, np.int32)
    dropped = np.empty(keys.shape[0], np.int32)
    drops = 0
    # small classes fill the room from its beginning, large ones from its end
    classes = 0
    end = 0
    larger = 0
    back = keys.shape[0]
    for c in range(starts.shape[0] - 1):
        begin = starts[c]
        stop = starts[c + 1]
        if number == 0:
            codes[: stop - begin] = 0
        for i in range(number):
            words = keys if places[chosen[i], 0] == 0 else tails
            shift = np.uint64(places[chosen[i], 1])
            mask = masks[chosen[i]]
            part = parts[i * offset :]
            if i == 0:
                for r in range(begin, stop):
                    codes[r - begin] = part[np.int64((words[r] >> shift) & mask)]
            else:
                for r in range(begin, stop):
                    codes[r - begin] += part[np.int64((words[r] >> shift) & mask)]
        kinds = 0
        for r in range(begin, stop):
            code = codes[r - begin]
            known = held[code]
            touched[kinds] = code
            kinds += known == 0
            held[code] = known + one + counts[r]
            unsafe[code] += counts[r] < minimum
        whole = kinds == 1
        for i in range(kinds):
            code = touched[i]
            records = held[code] & (one - 1)
            if records < minimum:
                position[code] = _FAILS
                whole = False
            elif unsafe[code] > 0 and records >= large:
                back -= held[code] >> 32
                larger_starts[larger] = back
                larger += 1
                position[code] = back
            elif unsafe[code] > 0:
                found_starts[classes] = end
                classes += 1
                position[code] = end
                end += held[code] >> 32
            else:
                position[code] = _SAFE
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
        for r in range(begin, stop):
            code = codes[r - begin]
            at = np.int64(position[code])
            if at >= 0:
                position[code] = at + 1
                found_keys[at] = keys[r]
                if wide:
                    found_tails[at] = tails[r]
                found_counts[at] = counts[r]
                found_weights[at] = weights[r]
            elif at == _FAILS:
                dropped[drops] = r
                drops += 1
                sums[0] += weights[r]
                sums[1] += counts[r]
        if sums[1] > limit:
            break
    found_starts[classes] = end
    for b in range(attributes):
        # further generalization does not change the cost of suppressed records
        if drops and low[b] < high[b]:
            words = keys if places[b, 0] == 0 else tails
            shift = np.uint64(places[b, 1])
            mask = masks[b]
            lost = np.zeros(widths[b, low[b]], np.int64)
            for i in range(drops):
                lost[np.int64((words[dropped[i]] >> shift) & mask)] += counts[dropped[i]]
            for label in range(lost.shape[0]):
                if lost[label]:
                    now = more[more_at[b, low[b]] + label]
                    for level in range(low[b] + 1, high[b] + 1):
                        higher = ups[ups_at[b, low[b], level] + label]
                        rises[b, level] += lost[label] * (more[more_at[b, level] + higher] - now)
    for i in range(number):
        high[chosen[i]] = wanted[chosen[i]]
    ends = np.empty(larger + 1, np.int32)
    for c in range(larger):
        ends[c] = larger_starts[larger - 1 - c] - back
    ends[larger] = keys.shape[0] - back
    return (
        PackedRows(
            shrunk(found_keys[:end], found_keys),
            shrunk(found_tails[:end], found_tails) if wide else tails,
            shrunk(found_counts[:end], found_counts),
            shrunk(found_weights[:end], found_weights),
            np.zeros(end, np.uint64),
            shrunk(found_starts[: classes + 1], found_starts),
        ),
        PackedRows(
            shrunk(found_keys[back:], found_keys),
            shrunk(found_tails[back:], found_tails) if wide else tails,
            shrunk(found_counts[back:], found_counts),
            shrunk(found_weights[back:], found_weights),
            np.zeros(keys.shape[0] - back, np.uint64),
            ends,
        ),
    )
