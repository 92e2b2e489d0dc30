"""Boxes of the lattice in which classes fail by their size alone: rows packed into words, tightened in one call.

A class of the highest levels is a run of rows, so everything is counted class by class, in a table with one cell per
label that fits into the fastest cache: there is no hash table of classes, and no table that grows with the rows. The
label codes of a row are packed into one or two words; rows are moved and compared as words. Costs are whole numbers, so
sums are exact in any order. A class in which every row has enough records cannot fail in the box: it is left out, as
are the classes that always fail. A large class loses few records: its rows wait until it is clear that the box is not
ruled out without them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

Array = TypeVar("Array", bound=NDArray[Any])

WORD = 64
"""Bits of a word; a row has two of them."""
_FEW = 6
_MOST_CELLS = 1 << 12
_TRIED = 1024
"""Rows after which it is known whether merging is worth its time."""
_WORTH = 16
"""It is if one of so many rows is merged."""
_ALL = np.int64(1 << 62)  # a Python integer would be a type of its own, and what is called with it compiled twice
_SAFE = -1
_FAILS = -2
_MIX = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)


class PackedRows(NamedTuple):
    """R rows in C classes.

    Attributes
    ----------
    keys : uint64, shape (R,)
        First words: label codes at the lowest levels; codes of attributes with one remaining level may be 0.
    tails : uint64, shape (R,)
        Second words; shape (0,) if one word per row is enough.
    counts : int32, shape (R,)
        Records.
    weights : int64, shape (R,)
        Additional cost if they are suppressed.
    starts : int32, shape (C + 1,)
        Class c holds the rows from `starts[c]` to `starts[c + 1] - 1`.
    """

    keys: NDArray[np.uint64]
    tails: NDArray[np.uint64]
    counts: NDArray[np.int32]
    weights: NDArray[np.int64]
    starts: NDArray[np.int32]


def none_of(rows: PackedRows) -> PackedRows:
    """Return rows of the same kind, none of them."""
    return PackedRows(rows.keys[:0], rows.tails[:0], rows.counts[:0], rows.weights[:0], rows.starts[:1])


def size_of(rows: PackedRows) -> int:
    """Return the bytes of rows."""
    return sum(array.nbytes for array in (rows.keys, rows.tails, rows.counts, rows.weights, rows.starts))


class Bounds(NamedTuple):
    """What is known of a box of m attributes; kernels change it in place.

    Attributes
    ----------
    low, high : int64, shape (m,)
        Its levels.
    sums : int64, shape (2,)
        The least cost of any of its transformations, and the records that all of them suppress.
    rises : int64, shape (m, levels)
        Additional cost of an attribute at a level, compared with its lowest level.
    probes : int64, shape (m, 3)
        For the part in which an attribute is at its lowest level: this level, or -1 if nothing is known; the records
        that the whole part suppresses; its least cost.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sums: NDArray[np.int64]
    rises: NDArray[np.int64]
    probes: NDArray[np.int64]


class Labels(NamedTuple):
    """The labels of m attributes: the bits of their codes, their costs, and their codes at higher levels.

    Attributes
    ----------
    places : int64, shape (m, 2)
        Word (0 or 1) and lowest bit of the code.
    masks : uint64, shape (m,)
        Its bits, shifted to the lowest place.
    widths : int64, shape (m, levels)
        Labels of each level.
    more : int64, shape (sum of labels,)
        Additional cost of a record if it is suppressed; the labels of level l of attribute a begin at `more_at[a, l]`.
    more_at : int64, shape (m, levels)
    ups : int32
        The code at level h of each label of level l begins at `ups_at[a, l, h]`.
    ups_at : int64, shape (m, levels, levels)
    """

    places: NDArray[np.int64]
    masks: NDArray[np.uint64]
    widths: NDArray[np.int64]
    more: NDArray[np.int64]
    more_at: NDArray[np.int64]
    ups: NDArray[np.int32]
    ups_at: NDArray[np.int64]


@kernel
def packed_rows(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    firsts: NDArray[np.int32],
    low: NDArray[np.int64],
    labels: Labels,
    words: int,
) -> PackedRows:
    """Pack the rows of a table into one class.

    Parameters
    ----------
    codes : int32, shape (m, rows)
        Leaf codes.
    counts : int64, shape (rows,)
        Records, fewer than 2**31 in all; rows without any are left out.
    firsts : int32, shape (m, leaves)
        Label code of each leaf at the lowest level.
    words : int
        Words of a row, 1 or 2.
    """
    rows = codes.shape[1]
    keys = np.zeros(rows, np.uint64)
    tails = np.zeros(rows if words > 1 else 0, np.uint64)
    found = np.empty(rows, np.int32)
    weights = np.empty(rows, np.int64)
    end = 0
    for r in range(rows):
        if counts[r] == 0:
            continue
        weight = np.int64(0)
        for a in range(codes.shape[0]):
            code = firsts[a, codes[a, r]]
            weight += labels.more[labels.more_at[a, low[a]] + code]
            moved = np.uint64(code) << np.uint64(labels.places[a, 1])
            if labels.places[a, 0] == 0:
                keys[end] |= moved
            else:
                tails[end] |= moved
        found[end] = counts[r]
        weights[end] = weight * counts[r]
        end += 1
    starts = np.zeros(2, np.int32)
    starts[1] = end
    return PackedRows(keys[:end], tails[:end] if words > 1 else tails, found[:end], weights[:end], starts)


@inlined
def _held(part: Array, room: Array) -> Array:
    """Return a part of an array, copied if it is small: else it would keep the whole array in memory."""
    return part.copy() if 2 * part.size < room.size else part


@kernel
def split_classes(
    rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Lower the highest levels of a box to those that are wanted; count what then fails in all of it.

    It may stop early, before it has reached these levels, when more than `limit` records are suppressed.
    """
    while (wanted < bounds.high).any() and bounds.sums[1] <= limit:
        rows, _ = _split(rows, bounds, wanted, minimum, _ALL, labels)
    return rows


@kernel
def _split(
    rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, large: int | np.int64, labels: Labels
) -> tuple[PackedRows, PackedRows]:
    """Split the classes by as many attributes as one table of cells has room for.

    Return the classes with fewer than `large` records, and the others.
    """
    keys, tails, counts, weights, starts = rows
    low, high, sums, rises, _ = bounds
    places, masks, widths, more, more_at, ups, ups_at = labels
    attributes = low.shape[0]
    wide = tails.shape[0] > 0
    chosen = np.empty(attributes, np.int64)
    number = 0
    cells = 1
    longest = 0
    for a in range(attributes):
        if wanted[a] < high[a] and (number == 0 or cells * widths[a, wanted[a]] <= _MOST_CELLS):
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
            _held(found_keys[:end], found_keys),
            _held(found_tails[:end], found_tails) if wide else tails,
            _held(found_counts[:end], found_counts),
            _held(found_weights[:end], found_weights),
            _held(found_starts[: classes + 1], found_starts),
        ),
        PackedRows(
            _held(found_keys[back:], found_keys),
            _held(found_tails[back:], found_tails) if wide else tails,
            _held(found_counts[back:], found_counts),
            _held(found_weights[back:], found_weights),
            ends,
        ),
    )


@kernel
def raise_rows(rows: PackedRows, bounds: Bounds, wanted: NDArray[np.int64], minimum: int, labels: Labels) -> PackedRows:
    """Raise the lowest levels of a box to those that are wanted, and merge the rows that then look alike.

    Where few of the first rows do, the others are not compared: rows that look alike may remain, until a later raise.
    """
    keys, tails, counts, weights, starts = rows
    low, high, sums, rises, _ = bounds
    places, masks, widths, more, more_at, ups, ups_at = labels
    wide = tails.shape[0] > 0
    chosen = np.flatnonzero(wanted > low)
    number = chosen.shape[0]
    offset = np.max(widths)
    shifts = np.empty(number, np.uint64)
    bits = np.empty(number, np.uint64)
    first = np.empty(number, np.bool_)
    steps = np.empty(number * offset, np.uint64)
    change = np.empty(number * offset, np.int64)
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
        rise = rises[a, wanted[a]]
        sums[0] += rise
        for level in range(wanted[a], high[a] + 1):
            rises[a, level] -= rise
        low[a] = wanted[a]
    longest = 0
    for c in range(starts.shape[0] - 1):
        longest = max(longest, starts[c + 1] - starts[c])
    found_keys = keys.copy()
    found_tails = tails.copy()
    found_counts = counts.copy()
    found_weights = weights.copy()
    found_starts = np.empty_like(starts)
    for i in range(number):
        words = found_keys if first[i] else found_tails
        step = steps[i * offset :]
        dearer = change[i * offset :]
        for r in range(counts.shape[0]):
            code = np.int64((words[r] >> shifts[i]) & bits[i])
            words[r] += step[code]
            found_weights[r] += counts[r] * dearer[code]
    size = 16
    while size < 4 * longest:
        size *= 2
    slots = np.full(size, np.int32(-1))
    classes = 0
    end = 0
    tried = np.int64(0)
    merged = np.int64(0)
    for c in range(starts.shape[0] - 1):
        begin = end
        length = starts[c + 1] - starts[c]
        size = 16
        move = np.uint64(60)
        while size < 4 * length:
            size *= 2
            move -= np.uint64(1)
        merges = tried < _TRIED or _WORTH * merged > tried
        for r in range(starts[c], starts[c + 1]):
            key = found_keys[r]
            tail = found_tails[r] if wide else key
            slot = np.int64(0)
            at = np.int64(-1)
            if merges and length <= _FEW:
                at = np.int64(begin)
                while at < end and (found_keys[at] != key or (wide and found_tails[at] != tail)):
                    at += 1
                if at == end:
                    at = np.int64(-1)
            elif merges:
                mixed = key * _MIX
                if wide:
                    mixed ^= tail * _OTHER
                slot = np.int64(mixed >> move)
                at = np.int64(slots[slot])
                while at >= 0 and (found_keys[at] != key or (wide and found_tails[at] != tail)):
                    slot = (slot + 1) & (size - 1)
                    at = np.int64(slots[slot])
            if at >= 0:
                found_counts[at] += found_counts[r]
                found_weights[at] += found_weights[r]
            else:
                if merges and length > _FEW:
                    slots[slot] = end
                found_keys[end] = key
                if wide:
                    found_tails[end] = tail
                found_counts[end] = found_counts[r]
                found_weights[end] = found_weights[r]
                end += 1
        if merges:
            if length > _FEW:
                slots[:size] = -1
            tried += length
            merged += length - (end - begin)
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
        _held(found_keys[:end], found_keys),
        _held(found_tails[:end], found_tails) if wide else tails,
        _held(found_counts[:end], found_counts),
        _held(found_weights[:end], found_weights),
        _held(found_starts[: classes + 1], found_starts),
    )


@kernel
def _probe(
    rows: PackedRows, words: NDArray[np.uint64], shift: np.uint64, mask: np.uint64, width: int, minimum: int
) -> tuple[np.int64, np.int64]:
    """Sum records and weights of the rows that fail if the classes are refined by the labels of an attribute."""
    counts, weights, starts = rows.counts, rows.weights, rows.starts
    # two tables alternate, so the counts of neighbouring labels do not wait for each other
    even = np.zeros(width, np.int32)
    odd = np.zeros(width, np.int32)
    failing = np.int64(0)
    cost = np.int64(0)
    for c in range(starts.shape[0] - 1):
        begin = starts[c]
        end = starts[c + 1]
        fails = True
        few = width > end - begin
        if few:
            for r in range(begin, end):
                even[np.int64((words[r] >> shift) & mask)] += counts[r]
        else:
            for r in range(begin, end - 1, 2):
                even[np.int64((words[r] >> shift) & mask)] += counts[r]
                odd[np.int64((words[r + 1] >> shift) & mask)] += counts[r + 1]
            if (end - begin) % 2:
                even[np.int64((words[end - 1] >> shift) & mask)] += counts[end - 1]
            fails = False
            for label in range(width):
                even[label] += odd[label]
                odd[label] = 0
                fails |= (even[label] > 0) & (even[label] < minimum)
        if fails:
            for r in range(begin, end):
                if even[np.int64((words[r] >> shift) & mask)] < minimum:
                    failing += counts[r]
                    cost += weights[r]
        if few:
            for r in range(begin, end):
                even[np.int64((words[r] >> shift) & mask)] = 0
        else:
            even[:] = 0
    return failing, cost


@kernel
def _joined(left: PackedRows, right: PackedRows) -> PackedRows:
    starts = np.empty(left.starts.shape[0] + right.starts.shape[0] - 1, np.int32)
    starts[: left.starts.shape[0]] = left.starts
    starts[left.starts.shape[0] :] = right.starts[1:] + left.keys.shape[0]
    return PackedRows(
        np.concatenate((left.keys, right.keys)),
        np.concatenate((left.tails, right.tails)),
        np.concatenate((left.counts, right.counts)),
        np.concatenate((left.weights, right.weights)),
        starts,
    )


@kernel
def catch_up(
    rows: PackedRows,
    waiting: PackedRows,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    bounds: Bounds,
    minimum: int,
    large: int,
    labels: Labels,
) -> tuple[PackedRows, PackedRows]:
    """Bring rows that waited to the levels of their box, and let only those of large classes wait on.

    Parameters
    ----------
    rows : PackedRows
        Those of the box that did not wait.
    waiting : PackedRows
        The others, as they were when the box had the levels `low` and `high`, which are changed.
    large : int
        Minimum number of records of a class that waits.

    Returns
    -------
    PackedRows, PackedRows
        Those that do not wait, and the others.
    """
    before = bounds.sums.copy()
    if (low < bounds.low).any():
        then = Bounds(low, high, np.zeros(2, np.int64), np.zeros_like(bounds.rises), bounds.probes)
        waiting = raise_rows(waiting, then, bounds.low, minimum, labels)
    now = Bounds(bounds.low, high, bounds.sums, bounds.rises, bounds.probes)
    while True:
        whole = True
        cells = 1
        for a in range(high.shape[0]):
            if bounds.high[a] < high[a]:
                cells *= labels.widths[a, bounds.high[a]]
                whole &= cells <= _MOST_CELLS
        if whole:
            break
        waiting, _ = _split(waiting, now, bounds.high, minimum, _ALL, labels)
    new, waiting = _split(waiting, now, bounds.high, minimum, large, labels)
    for a in range(low.shape[0]):
        if bounds.low[a] < bounds.high[a] and bounds.probes[a, 0] == bounds.low[a]:
            words = new.keys if labels.places[a, 0] == 0 else new.tails
            shift, width = np.uint64(labels.places[a, 1]), labels.widths[a, bounds.low[a]]
            records, cost = _probe(new, words, shift, labels.masks[a], width, minimum)
            bounds.probes[a, 1] += bounds.sums[1] - before[1] + records
            bounds.probes[a, 2] += bounds.sums[0] - before[0] + cost
    return _joined(rows, new), waiting


@kernel
def tighten_box(
    rows: PackedRows, bounds: Bounds, minimum: int, limit: int, ceiling: int, labels: Labels
) -> tuple[bool, PackedRows, np.int64]:
    """Shrink a box as far as it goes.

    Parameters
    ----------
    minimum : int
        Records a class must have.
    limit : int
        Records that may be suppressed.
    ceiling : int
        Transformations with a higher cost are not wanted.

    Returns
    -------
    bool
        Whether the box may hold something that is wanted.
    PackedRows
    int64
        Passes over the rows.
    """
    low, high, sums, rises, probes = bounds
    passes = np.int64(0)
    while True:
        if sums[1] > limit or sums[0] > ceiling:
            return False, rows, passes
        wanted = high.copy()
        for a in range(low.shape[0]):
            while wanted[a] > low[a] and sums[0] + rises[a, wanted[a]] > ceiling:
                wanted[a] -= 1
        if (wanted < high).any():
            rows = split_classes(rows, bounds, wanted, minimum, limit, labels)
            passes += 1
            probes[:, 0] = -1
            continue
        wanted = low.copy()
        least = sums[0]
        left = low < high
        while left.any():
            a = int(_most_promising(bounds, left))
            left[a] = False
            if probes[a, 0] != low[a]:
                words = rows.keys if labels.places[a, 0] == 0 else rows.tails
                records, cost = _probe(
                    rows, words, np.uint64(labels.places[a, 1]), labels.masks[a], labels.widths[a, low[a]], minimum
                )
                passes += 1
                probes[a, 0] = low[a]
                probes[a, 1] = sums[1] + records
                probes[a, 2] = sums[0] + cost
            if probes[a, 1] > limit or probes[a, 2] > ceiling:
                wanted[a] += 1
                least += rises[a, wanted[a]]
                if least > ceiling:
                    return False, rows, passes
        if (wanted == low).all():
            return True, rows, passes
        rows = raise_rows(rows, bounds, wanted, minimum, labels)


@kernel
def _most_promising(bounds: Bounds, left: NDArray[np.bool_]) -> np.int64:
    """Choose of some attributes the one to be probed next.

    Those that are known come first, then those that suppressed most when they were last probed, and whose rise costs
    most: the rises of few attributes may rule out a box before the others are probed.
    """
    low, _, _, rises, probes = bounds
    choice = np.int64(-1)
    best = 0.0
    for a in range(low.shape[0]):
        if left[a]:
            if probes[a, 0] == low[a]:
                return np.int64(a)
            promise = np.float64(max(probes[a, 1], 1)) * max(rises[a, low[a] + 1], 1)
            if choice < 0 or promise > best:
                best = promise
                choice = np.int64(a)
    return choice


@kernel
def tightest_halves(bounds: Bounds, limit: int, ceiling: int) -> np.int64:
    """Choose the attribute at which to split a tightened box: both halves gain most in cost or suppressed records."""
    low, high, sums, rises, probes = bounds
    room = max(ceiling - sums[0], 1)
    best = 0.0
    choice = np.int64(-1)
    for a in range(low.shape[0]):
        if low[a] < high[a]:
            filled = (probes[a, 1] - sums[1]) / (limit + 1)
            below = max((probes[a, 2] - sums[0]) / room, filled) + 0.01
            gain = below * (rises[a, low[a] + 1] / room + 0.01)
            # costs of labels shared with values without a hierarchy entry may fall: a gain has no lower limit
            if choice < 0 or gain > best:
                best = gain
                choice = np.int64(a)
    return choice
