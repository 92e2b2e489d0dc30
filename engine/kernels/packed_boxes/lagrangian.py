"""A bound of boxes in packed rows that puts a price on suppressed records, so that all attributes count at once.

Each attribute of a box is either raised, which costs its rise, or stays at its lowest level, and then the rows that
fail there are suppressed. What is suppressed costs its weights and takes from the records that may still be suppressed;
with a price on each of these records (Lagrangian relaxation of the suppression limit: Geoffrion, Lagrangean relaxation
for integer programming. Math. Programming Study 2, 1974) the least sum of both is a minimum cut between the attributes
and the rows (Picard, Maximal closure of a graph. Management Science 22(11), 1976). Any flow is a lower bound of it: the
price of each row is shared among the attributes at which it fails, and no attribute receives more than its rise. What
an attribute could still receive, and what its rows have left, are the reduced costs of its two choices.

Why no transformation with at most `limit` suppressed records costs less: a suppressed row costs at least its weight at
the lowest levels, and of a rise at most the records that may be suppressed times the largest difference of a label are
not paid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows

_MOST = 63
"""Attributes that are looked at: bits of a set."""
_BITS = 8
"""Of a mark that are looked up at once."""
_PRICES = 9
_CHEAPEST = 0.125
"""Prices are multiples of what raising the dearest attribute costs per record that may be suppressed: 0, this one, and
then always twice the one before."""
_LARGEST_PRICE = 1 << 60
"""Price times records; with weights and rises it remains below 2**63."""
_EMPTY = np.int64(-1)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@kernel
def lagrangian_bound(
    rows: PackedRows, bounds: Bounds, limit: int, labels: Labels
) -> tuple[np.int64, NDArray[np.int64], NDArray[np.int64]]:
    """Bound the cost of a box and of its parts in which one attribute is at its lowest level, or above it.

    Parameters
    ----------
    rows, bounds : PackedRows, Bounds
        A box that suppresses at most `limit` records; its probes must be known, and the rows marked by them.
    limit : int
        Records that may be suppressed.

    Returns
    -------
    int64
        No transformation of the box that suppresses at most `limit` records costs less.
    int64, shape (m,)
        None with the attribute at its lowest level does.
    int64, shape (m, levels)
        None with the attribute at the level or above it does; lowest levels have the bound of the box.
    """
    low, high, sums, _, probes = bounds
    room = limit - sums[1]
    capacities = _capacities(bounds, room, labels)
    staying = np.full(low.shape[0], sums[0])
    rising = np.full(capacities.shape, sums[0])
    best = sums[0]
    free = np.empty(low.shape[0], np.int64)
    number = 0
    dearest = np.int64(0)
    for a in range(low.shape[0]):
        if low[a] < high[a]:
            for level in range(low[a] + 1, high[a] + 1):
                rising[a, level] = max(rising[a, level], sums[0] + capacities[a, level])
            if probes[a, 1] > sums[1] and capacities[a, low[a] + 1] > 0 and number < _MOST:
                free[number] = a
                number += 1
                dearest = max(dearest, capacities[a, low[a] + 1])
    if number == 0:
        return best, staying, rising
    free = free[:number]
    sets, records, weights = _by_set(rows, *failing_sets(rows, free))
    most = np.int64(_LARGEST_PRICE) // max(np.sum(records), room, 1)
    price = np.int64(0)
    for step in range(_PRICES):
        if step > 0:
            # compared as floats: a large one is no int64
            price = np.int64(min(_CHEAPEST * 2.0 ** (step - 1) * dearest / max(room, 1), np.float64(most)))
        left = np.empty(number, np.int64)
        for i in range(number):
            left[i] = capacities[free[i], low[free[i]] + 1]
        flow, unshared = _shared(sets, weights + price * records, left)
        total = sums[0] + flow - price * room
        best = max(best, total)
        for i in range(number):
            a = free[i]
            staying[a] = max(staying[a], total + unshared[i])
            first = capacities[a, low[a] + 1]
            for level in range(low[a] + 1, high[a] + 1):
                rising[a, level] = max(rising[a, level], total + left[i] + capacities[a, level] - first)
        for a in range(low.shape[0]):
            # attributes that take no part in the flow
            if low[a] < high[a] and (probes[a, 1] <= sums[1] or capacities[a, low[a] + 1] <= 0):
                for level in range(low[a] + 1, high[a] + 1):
                    rising[a, level] = max(rising[a, level], total + capacities[a, level])
    return best, staying, rising


@kernel
def _capacities(bounds: Bounds, room: int, labels: Labels) -> NDArray[np.int64]:
    """Return what raising an attribute to a level, or above it, costs at least, if as many records are suppressed."""
    low, high, _, rises, _ = bounds
    found = np.zeros(rises.shape, np.int64)
    for a in range(low.shape[0]):
        for level in range(high[a], low[a], -1):
            cost = max(rises[a, level] - room * labels.savings[a, low[a], level], 0)
            found[a, level] = cost if level == high[a] else min(cost, found[a, level + 1])
    return found


@kernel
def failing_sets(rows: PackedRows, free: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the rows that are marked, and the set of attributes of each as bits in the order of `free`.

    Only attributes in `free` count, so a set may be empty.
    """
    marks = rows.marks
    one, last = np.uint64(1), np.uint64((1 << _BITS) - 1)
    # what the bits of a mark become is looked up, several at once
    parts = np.max(free) // _BITS + 1 if free.shape[0] else 0
    bits = np.zeros((parts, 1 << _BITS), np.uint64)
    for i in range(free.shape[0]):
        inside = np.uint64(free[i] % _BITS)
        for part in range(np.uint64(1 << _BITS)):
            bits[free[i] // _BITS, part] |= ((part >> inside) & one) << np.uint64(i)
    # three of four rows have no mark
    marked = np.empty(marks.shape[0], np.uint32)
    end = np.uint64(0)
    for r in range(np.uint64(marks.shape[0])):
        marked[end] = r
        end += np.uint64(marks[r] != 0)
    marked = marked[:end]
    found = np.zeros(end, np.uint64)
    for k in range(parts):
        become, place = bits[k], np.uint64(k * _BITS)
        for i in range(end):
            found[i] |= become[(marks[marked[i]] >> place) & last]
    return marked, found


@kernel
def _by_set(
    rows: PackedRows, marked: NDArray[np.uint32], sets: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Sum records and weights by set of attributes, without the empty one; the smallest sets are first."""
    size = 1024
    slots = np.full(size, _EMPTY)
    room = 256
    found = np.empty(room, np.uint64)
    records = np.empty(room, np.int64)
    weights = np.empty(room, np.int64)
    end = 0
    for each in range(sets.shape[0]):
        key, r = sets[each], marked[each]
        if key == 0:
            continue
        slot = np.int64((key * _MIX) >> np.uint64(40)) & (size - 1)
        while slots[slot] >= 0 and found[slots[slot]] != key:
            slot = (slot + 1) & (size - 1)
        at = slots[slot]
        if at >= 0:
            records[at] += rows.counts[r]
            weights[at] += rows.weights[r]
            continue
        if end == room:
            room *= 4
            size *= 4
            more = np.empty(room, np.uint64)
            more[:end] = found
            found = more
            longer = np.empty(room, np.int64)
            longer[:end] = records
            records = longer
            longer = np.empty(room, np.int64)
            longer[:end] = weights
            weights = longer
            slots = np.full(size, _EMPTY)
            for i in range(end):
                slot = np.int64((found[i] * _MIX) >> np.uint64(40)) & (size - 1)
                while slots[slot] >= 0:
                    slot = (slot + 1) & (size - 1)
                slots[slot] = i
            slot = np.int64((key * _MIX) >> np.uint64(40)) & (size - 1)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
        slots[slot] = end
        found[end] = key
        records[end] = rows.counts[r]
        weights[end] = rows.weights[r]
        end += 1
    members = np.zeros(end, np.int64)
    for i in range(end):
        rest = found[i]
        while rest:
            rest &= rest - np.uint64(1)
            members[i] += 1
    order = np.argsort(members, kind="mergesort")
    return found[:end][order], records[:end][order], weights[:end][order]


@kernel
def _shared(
    sets: NDArray[np.uint64], amounts: NDArray[np.int64], left: NDArray[np.int64]
) -> tuple[np.int64, NDArray[np.int64]]:
    """Share the amount of each set among its attributes, first those that can receive most.

    `left` is what each can receive, and is reduced. Return what was received in all, and by attribute what its sets
    have left over.
    """
    flow = np.int64(0)
    unshared = np.zeros(left.shape[0], np.int64)
    for s in range(sets.shape[0]):
        amount = amounts[s]
        while amount > 0:
            choice = -1
            for i in range(left.shape[0]):
                if (sets[s] >> np.uint64(i)) & np.uint64(1) and left[i] > 0 and (choice < 0 or left[i] > left[choice]):
                    choice = i
            if choice < 0:
                break
            part = min(amount, left[choice])
            left[choice] -= part
            amount -= part
            flow += part
        if amount > 0:
            for i in range(left.shape[0]):
                if (sets[s] >> np.uint64(i)) & np.uint64(1):
                    unshared[i] += amount
    return flow, unshared
