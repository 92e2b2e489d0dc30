"""Distances between the sensitive values of a class and those of the whole table.

Source: Bild, Eicher, Prasser, Efficient protection of health data from sensitive attribute disclosure. MIE 2020. There
a check of ordered distance adds a term for every value of the table; here the terms between two values of the class are
added at once, from prefix sums made once for the table, so that a class costs its own values times a binary search.

Shares are never formed: a share f/c of a class and F/n of the table differ by (f n - F c) / (c n), and the numerators
are whole numbers, in doubles, exact below 2**53. One division at the end is the correctly rounded distance, so that a
distance of exactly t is t, and that of a union is never above the largest of its parts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


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
    for c in range(classes):
        size = np.int64(0)
        for i in range(offsets[c], offsets[c + 1]):
            size += counts[i]
        start = np.int64(0)
        below = np.int64(0)
        total = 0.0
        for i in range(offsets[c], offsets[c + 1] + 1):
            stop = np.int64(values[i]) if i < offsets[c + 1] else np.int64(number)
            share = below * records
            # values start..stop-1 see the same share of the class: split them where the table's share passes it
            low = start
            high = stop
            while low < high:
                middle = (low + high) // 2
                if cumulative[middle] * size < share:
                    low = middle + 1
                else:
                    high = middle
            total += share * (low - start) - size * (prefix[low] - prefix[start])
            total += size * (prefix[stop] - prefix[low]) - share * (stop - low)
            start = stop
            if i < offsets[c + 1]:
                below += counts[i]
        distances[c] = total / (size * records * (number - 1)) if number > 1 else 0.0
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
        size = np.int64(0)
        for i in range(offsets[c], offsets[c + 1]):
            size += counts[i]
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
