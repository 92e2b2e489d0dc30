"""Distances between the sensitive values of a class and those of the whole table.

Source: Bild, Eicher, Prasser, Efficient protection of health data from sensitive attribute disclosure. MIE 2020. There a
check of ordered distance adds a term for every value of the table; here the terms between two values of the class are
added at once, from prefix sums made once for the table, so that a class costs its own values times a binary search.
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
        Share of the table's records with a value of at most i; ascends.
    prefix : float64, shape (V + 1,)
        Sums of `cumulative` before i.

    Returns
    -------
    float64, shape (classes,)
    """
    classes = offsets.shape[0] - 1
    number = cumulative.shape[0]
    distances = np.zeros(classes, np.float64)
    for c in range(classes):
        size = np.int64(0)
        for i in range(offsets[c], offsets[c + 1]):
            size += counts[i]
        start = 0
        below = np.int64(0)
        total = 0.0
        for i in range(offsets[c], offsets[c + 1] + 1):
            stop = np.int64(values[i]) if i < offsets[c + 1] else np.int64(number)
            share = below / size
            # values start..stop-1 see the same share of the class: split them where the table's share passes it
            low, high = start, stop
            while low < high:
                middle = (low + high) // 2
                if cumulative[middle] < share:
                    low = middle + 1
                else:
                    high = middle
            total += share * (low - start) - (prefix[low] - prefix[start])
            total += (prefix[stop] - prefix[low]) - share * (stop - low)
            start = stop
            if i < offsets[c + 1]:
                below += counts[i]
        distances[c] = total / (number - 1) if number > 1 else 0.0
    return distances


@kernel
def hierarchical_distances(
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    nodes: NDArray[np.int32],
    shares: NDArray[np.float64],
    parents: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Earth mover's distance in a hierarchy: what inner nodes must move between their children, by level.

    Parameters
    ----------
    nodes : int32, shape (levels, V)
        Node of each sensitive value at each level.
    shares : float64, shape (levels, nodes)
        Share of the table's records below each node; padded with zeros.
    parents : int32, shape (levels, nodes)
        Parent of each node, at the level above; padded with zeros, and zero at the highest level.

    Returns
    -------
    float64, shape (classes,)
        Sum over inner nodes of (level / height) min(surplus, deficit) of their children; level counted from the leaves.
    """
    classes = offsets.shape[0] - 1
    levels, width = shares.shape
    height = levels - 1
    distances = np.zeros(classes, np.float64)
    mass = np.empty((levels, width), np.float64)
    surplus = np.empty(width, np.float64)
    deficit = np.empty(width, np.float64)
    for c in range(classes):
        size = np.int64(0)
        for i in range(offsets[c], offsets[c + 1]):
            size += counts[i]
        mass[:, :] = 0.0
        for i in range(offsets[c], offsets[c + 1]):
            for level in range(levels):
                mass[level, nodes[level, values[i]]] += counts[i] / size
        total = 0.0
        for level in range(1, levels):
            surplus[:] = 0.0
            deficit[:] = 0.0
            for node in range(width):
                difference = mass[level - 1, node] - shares[level - 1, node]
                if difference > 0:
                    surplus[parents[level - 1, node]] += difference
                else:
                    deficit[parents[level - 1, node]] -= difference
            for node in range(width):
                total += (level / height) * min(surplus[node], deficit[node])
        distances[c] = total
    return distances
