"""Distances between the sensitive values of a class and those of the whole table.

Source: Bild, Eicher, Prasser, Efficient protection of health data from sensitive attribute disclosure. MIE 2020. There
a check of ordered distance adds one term for every value of the table; here all terms between two values of the class
are added at once, from prefix sums of the table. A guide table (Chen, Asau, On generating random variates from an
empirical distribution. AIIE Transactions 6, 1974) says approximately where in the table a share of the class is passed,
so the cost of a class grows with its own number of values.

Shares are never computed: a share f/c of a class and F/n of the table differ by (f n - F c) / (c n), and the numerators
are whole numbers, in doubles, exact below 2**53. One division at the end gives the correctly rounded distance, so a
distance of exactly t is t, and that of a union is never above the largest of its parts. A class without records is at
distance 0.

The distance of the nearest part of a class is computed in the same way: see `engine.kernels.close_parts`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

_GUIDE = 1024


@inlined
def records_of(offsets: NDArray[np.int64], counts: NDArray[np.int64], c: int) -> np.int64:
    """Return the records of class c, 1 if it has none."""
    size = np.int64(0)
    for i in range(offsets[c], offsets[c + 1]):
        size += counts[i]
    return max(size, np.int64(1))


@inlined
def first_at_least(
    cumulative: NDArray[np.float64], size: np.int64, share: np.float64, low: np.int64, high: np.int64
) -> np.int64:
    """Return the first of the values low..high-1 whose cumulative records times `size` reach `share`, or high."""
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] * size < share:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def apart(
    prefix: NDArray[np.float64], size: np.int64, share: np.float64, start: np.int64, split: np.int64, stop: np.int64
) -> np.float64:
    """Sum `abs(share - size * cumulative)` over values start..stop-1; cumulative records pass the share at `split`."""
    below: np.float64 = share * (split - start) - size * (prefix[split] - prefix[start])
    above: np.float64 = size * (prefix[stop] - prefix[split]) - share * (stop - split)
    return below + above


@kernel
def ordered_distances(
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    cumulative: NDArray[np.float64],
    prefix: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum, over all values i of the table, the distance of the cumulative shares up to i, divided by their number - 1.

    Parameters
    ----------
    offsets, values, counts
        Histograms of the classes; values ascend within a class.
    cumulative : float64, shape (V,)
        Records of the table with a value of at most i; ascends.
    prefix : float64, shape (V + 1,)
        Sums of `cumulative` before i.

    Returns
    -------
    float64, shape (classes,)
    """
    classes = offsets.shape[0] - 1
    number = cumulative.shape[0]
    records = cumulative[number - 1]
    distances = np.zeros(classes, np.float64)
    # guide[k] is the first value with at least k / _GUIDE of the table up to it
    guide = np.full(_GUIDE + 2, np.int64(number))
    value = np.int64(0)
    for k in range(_GUIDE + 1):
        while cumulative[value] * _GUIDE < k * records:
            value += 1
        guide[k] = value
    for c in range(classes if number > 1 else 0):
        size = records_of(offsets, counts, c)
        start = np.int64(0)
        below = np.int64(0)
        total = 0.0
        for i in range(offsets[c], offsets[c + 1] + 1):
            stop = np.int64(values[i]) if i < offsets[c + 1] else np.int64(number)
            # values start..stop-1 see the same share of the class: split them where the table's share passes it
            share = below * records
            part = below * _GUIDE // size
            low = max(start, min(stop, guide[part]))
            split = first_at_least(cumulative, size, share, low, max(low, min(stop, guide[part + 1])))
            total += apart(prefix, size, share, start, split, stop)
            start = stop
            if i < offsets[c + 1]:
                below += counts[i]
        distances[c] = total / (size * records * (number - 1)) if below > 0 else 0.0
    return distances


@kernel
def hierarchical_distances(
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    nodes: NDArray[np.int32],
    totals: NDArray[np.float64],
    parents: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Earth mover's distance in a hierarchy: what inner nodes must move between their children, by level.

    Parameters
    ----------
    nodes : int32, shape (levels, V)
        Node of each sensitive value at each level.
    totals : float64, shape (levels, nodes)
        Records of the table below each node; padded with zeros.
    parents : int32, shape (levels, nodes)
        Parent of each node, at the level above; padded with zeros, and zero at the highest level.

    Returns
    -------
    float64, shape (classes,)
        Sum over inner nodes of (level / height) min(surplus, deficit) of their children; level counted from the leaves.
    """
    classes = offsets.shape[0] - 1
    levels, width = totals.shape
    height = levels - 1
    records = totals[0].sum()
    distances = np.zeros(classes, np.float64)
    mass = np.zeros((levels, width), np.float64)
    surplus = np.zeros((levels, width), np.float64)
    touched = np.empty((levels, width), np.int32)
    number = np.zeros(levels, np.int64)
    for c in range(classes):
        size = records_of(offsets, counts, c)
        number[:] = 0
        for i in range(offsets[c], offsets[c + 1]):
            for level in range(levels):
                node = nodes[level, values[i]]
                if mass[level, node] == 0.0:
                    touched[level, number[level]] = node
                    number[level] += 1
                mass[level, node] += counts[i] * records
        total = 0.0
        for level in range(levels):
            # nodes without a record of the class have no surplus; the deficit follows from the balance of the node
            for i in range(number[level]):
                node = touched[level, i]
                if level > 0:
                    deficit = surplus[level, node] - (mass[level, node] - totals[level, node] * size)
                    total += level * max(0.0, min(surplus[level, node], deficit))
                    surplus[level, node] = 0.0
                if level < height:
                    difference = mass[level, node] - totals[level, node] * size
                    if difference > 0:
                        surplus[level + 1, parents[level, node]] += difference
        for level in range(levels):
            for i in range(number[level]):
                mass[level, touched[level, i]] = 0.0
        distances[c] = total / (size * records * height) if height > 0 else 0.0
    return distances
