"""A bound of boxes in packed rows that looks at every choice of attributes to raise, so that all of them count at once.

In: a tightened box. Out: the least cost of the whole box, and of its parts, as far as single attributes tell. Each
attribute of a box is either raised, which costs its rise, or stays at its lowest level, and then the rows that fail
there are suppressed. Few attributes are left in most boxes, so all sets of them are looked at: the rows that fail with
a set are those of no set of attributes without it, summed for all sets at once (Yates, The design and analysis of
factorial experiments, 1937; today the fast zeta transform). A set that suppresses too much is no choice. Where too many
attributes are left, a price on suppressed records takes the place of the choices
(`engine.kernels.packed_boxes.lagrangian`).

Why no transformation with at most `limit` suppressed records costs less: the rows that fail with the attributes that
stay are suppressed. They cost nothing less than 0, and nothing less than their weights at the lowest levels without
what the raised attributes take off the weight of a record at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.lagrangian import failing_sets, lagrangian_bound
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows

_MOST = 12
"""Attributes whose choices are all looked at: 4,096, which takes less time than reading the rows."""
_NEVER = np.int64(1 << 62)


@kernel
def bound_of_choices(
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
    taking = np.flatnonzero((low < high) & (probes[:, 1] > sums[1]))
    if taking.shape[0] > _MOST:
        return lagrangian_bound(rows, bounds, limit, labels)
    room = limit - sums[1]
    least = _least_rises(bounds)
    saved = _largest_savings(bounds, labels)
    # attributes that suppress nothing of their own may be raised or not
    idle = least_weighed = np.int64(0)
    for a in range(low.shape[0]):
        if low[a] < high[a] and probes[a, 1] <= sums[1]:
            rise = least[a, low[a] + 1]
            idle += min(rise, 0)
            least_weighed += min(rise - room * saved[a], 0)
    records, weights = _suppressed_without(rows, *failing_sets(rows, taking), taking.shape[0])
    rises = np.zeros(1 << taking.shape[0], np.int64)
    savings = np.zeros(1 << taking.shape[0], np.int64)
    for i in range(taking.shape[0]):
        for raised in range(1 << i):
            rises[raised | 1 << i] = rises[raised] + least[taking[i], low[taking[i]] + 1]
            savings[raised | 1 << i] = savings[raised] + saved[taking[i]]
    plain = best = _NEVER
    stays = np.full(taking.shape[0], _NEVER)
    raises = np.full(taking.shape[0], _NEVER)
    for raised in range(rises.shape[0]):
        if records[raised] > room:
            continue
        cost = rises[raised] + max(idle, weights[raised] - records[raised] * savings[raised] + least_weighed)
        plain = min(plain, rises[raised] + idle)
        best = min(best, cost)
        for i in range(taking.shape[0]):
            if raised >> i & 1:
                raises[i] = min(raises[i], cost)
            else:
                stays[i] = min(stays[i], cost)
    staying = np.full(low.shape[0], sums[0] + best)
    rising = np.full(least.shape, sums[0] + best)
    for a in range(low.shape[0]):
        if low[a] < high[a]:
            first = least[a, low[a] + 1]
            for level in range(low[a] + 1, high[a] + 1):
                above = best + least[a, level] - min(first, room * saved[a])
                rising[a, level] = sums[0] + max(above, plain + least[a, level] - min(first, 0))
    for i in range(taking.shape[0]):
        a = taking[i]
        staying[a] = _NEVER if stays[i] == _NEVER else sums[0] + stays[i]
        for level in range(low[a] + 1, high[a] + 1):
            rising[a, level] = sums[0] + raises[i] + least[a, level] - least[a, low[a] + 1]
    # costs that are rounded down may fall by raising, those of the lowest levels bound the box all the same
    return sums[0] + max(best, 0), staying, rising


@kernel
def _least_rises(bounds: Bounds) -> NDArray[np.int64]:
    """Return what raising an attribute to a level, or above it, costs at least if nothing more is suppressed."""
    low, high, _, rises, _ = bounds
    found = np.zeros(rises.shape, np.int64)
    for a in range(low.shape[0]):
        for level in range(high[a], low[a], -1):
            found[a, level] = rises[a, level] if level == high[a] else min(rises[a, level], found[a, level + 1])
    return found


@kernel
def _largest_savings(bounds: Bounds, labels: Labels) -> NDArray[np.int64]:
    """Return what raising an attribute takes off the weight of a record at most."""
    low, high, _, _, _ = bounds
    found = np.zeros(low.shape[0], np.int64)
    for a in range(low.shape[0]):
        for level in range(low[a] + 1, high[a] + 1):
            found[a] = max(found[a], labels.savings[a, low[a], level])
    return found


@kernel
def _suppressed_without(
    rows: PackedRows, marked: NDArray[np.uint32], sets: NDArray[np.uint64], attributes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return by set of raised attributes the records and weights of the rows that fail at an attribute that stays."""
    records = np.zeros(1 << attributes, np.int64)
    weights = np.zeros(1 << attributes, np.int64)
    for i in range(sets.shape[0]):
        records[sets[i]] += rows.counts[marked[i]]
        weights[sets[i]] += rows.weights[marked[i]]
    # now by the set that has all attributes at which a row fails
    for i in range(attributes):
        step = np.uint64(1) << np.uint64(i)
        for pair in range(np.uint64(1) << np.uint64(attributes - 1 - i)):
            begin = pair << np.uint64(i + 1)
            for raised in range(begin, begin + step):
                records[raised + step] += records[raised]
                weights[raised + step] += weights[raised]
    return records[-1] - records, weights[-1] - weights
