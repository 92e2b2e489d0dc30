"""Rows of a box are raised to higher lowest levels; those that then look alike are merged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, longest_of, shrunk

_SLOT_BITS = 12
_SLOTS = 1 << _SLOT_BITS
"""Of the table in which rows of a class are looked up, so many that those of most classes are alone in theirs."""
_TRIED = 1024
"""Rows after which it is known whether merging is worth its time."""
_WORTH = 16
"""It is if one of so many rows is merged."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)


@kernel
def raise_rows(rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, labels: Labels) -> PackedRows:
    """Raise the lowest levels of a box to those that are wanted, and merge the rows that then look alike.

    Rows that look alike may remain, until a later raise: see `merged`.
    """
    keys, tails, counts, weights, marks, starts = rows
    low, high, sums, rises, _ = bounds
    places, masks, widths, more, more_at, ups, ups_at, _ = labels
    chosen = np.flatnonzero(wanted > low)
    number = chosen.shape[0]
    offset = np.max(widths)
    shifts = np.empty(number, np.uint64)
    bits = np.empty(number, np.uint64)
    first = np.empty(number, np.bool_)
    steps = np.empty(number * offset, np.uint64)
    change = np.empty(number * offset, np.int64)
    raised = np.uint64(0)
    for i in range(number):
        a = chosen[i]
        shifts[i] = np.uint64(places[a, 1])
        bits[i] = masks[a]
        first[i] = places[a, 0] == 0
        for label in range(widths[a, low[a]]):
            higher = ups[ups_at[a, low[a], wanted[a]] + label]
            new = np.uint64(higher) if wanted[a] < high[a] else np.uint64(0)
            steps[i * offset + label] = (new - np.uint64(label)) << np.uint64(places[a, 1])
            change[i * offset + label] = more[more_at[a, wanted[a]] + higher] - more[more_at[a, low[a]] + label]
        raised |= np.uint64(1) << np.uint64(a)
        rise = rises[a, wanted[a]]
        sums[0] += rise
        for level in range(wanted[a], high[a] + 1):
            rises[a, level] -= rise
        low[a] = wanted[a]
    found_keys = keys.copy()
    found_tails = tails.copy()
    found_counts = counts.copy()
    found_weights = weights.copy()
    found_marks = marks & ~raised
    for i in range(number):
        words = found_keys if first[i] else found_tails
        step = steps[i * offset :]
        dearer = change[i * offset :]
        for r in range(counts.shape[0]):
            code = (words[r] >> shifts[i]) & bits[i]
            words[r] += step[code]
            found_weights[r] += counts[r] * dearer[code]
    return merged(PackedRows(found_keys, found_tails, found_counts, found_weights, found_marks, starts), 0, minimum)


@kernel
def merged(rows: PackedRows, first_class: int, minimum: int) -> PackedRows:
    """Merge the rows that look alike, in place, and leave out classes all of whose rows have `minimum` records.

    The classes before the first one stay as they are. Where few of the first rows look alike, the others are not
    compared.
    """
    found_keys, found_tails, found_counts, found_weights, found_marks, starts = rows
    wide = found_tails.shape[0] > 0
    found_starts = np.empty_like(starts)
    zero, one = np.uint64(0), np.uint64(1)
    size = _SLOTS
    move = np.uint64(64 - _SLOT_BITS)
    while size < 2 * longest_of(starts[first_class:]):
        size *= 2
        move -= one
    last = np.uint64(size - 1)
    # a slot holds where a row of this class is, counted from 1 before its first row was read: older ones are less
    slots = np.zeros(size, np.uint32)
    found_starts[:first_class] = starts[:first_class]
    classes = first_class
    end = np.uint64(starts[first_class])
    tried = np.int64(0)
    merged = np.int64(0)
    for c in range(first_class, starts.shape[0] - 1):
        begin = end
        first, stop = np.uint64(starts[c]), np.uint64(starts[c + 1])
        if tried < _TRIED or _WORTH * merged > tried:
            offset = first + one - begin
            for r in range(first, stop):
                key = found_keys[r]
                tail = found_tails[r] if wide else zero
                slot = ((key * _MIX) ^ (tail * _OTHER)) >> move
                known = np.uint64(slots[slot])
                at = known - offset if known > first else end
                while at < end and (found_keys[at] != key or (wide and found_tails[at] != tail)):
                    slot = (slot + one) & last
                    known = np.uint64(slots[slot])
                    at = known - offset if known > first else end
                slots[slot] = at + offset
                new = at == end
                counts = found_counts[r]
                weights = found_weights[r]
                marks = found_marks[r]
                found_keys[at] = key
                if wide:
                    found_tails[at] = tail
                found_counts[at] = counts if new else found_counts[at] + counts
                found_weights[at] = weights if new else found_weights[at] + weights
                found_marks[at] = marks
                end += np.uint64(new)
            tried += np.int64(stop - first)
            merged += np.int64(stop - first) - np.int64(end - begin)
        elif begin == first:
            end = stop
        else:
            for r in range(first, stop):
                found_keys[end] = found_keys[r]
                if wide:
                    found_tails[end] = found_tails[r]
                found_counts[end] = found_counts[r]
                found_weights[end] = found_weights[r]
                found_marks[end] = found_marks[r]
                end += one
        safe = True
        for r in range(begin, end):
            safe &= found_counts[r] >= minimum
        if safe:
            end = begin
        else:
            found_starts[classes] = begin
            classes += 1
    found_starts[classes] = end
    return PackedRows(
        shrunk(found_keys[:end], found_keys),
        shrunk(found_tails[:end], found_tails) if wide else found_tails,
        shrunk(found_counts[:end], found_counts),
        shrunk(found_weights[:end], found_weights),
        shrunk(found_marks[:end], found_marks),
        shrunk(found_starts[: classes + 1], found_starts),
    )
