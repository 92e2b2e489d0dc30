"""The largest part of a class that is within a distance of the table, for t-closeness with suppression.

In: histograms of classes, and a distance t. Out: for each class a number of records that no part within t exceeds.

Which part of so many records is nearest is not known, but what it cannot come below is. Both distances are sums of
terms, and of each term the least is taken that some part of this size has: of a node with f records of the class, or of
the values up to one with f records, a part of s records has at most a share of f/s. The larger the part, the narrower
are these ranges, so the bound never falls as s rises, and the largest s with a bound of at most t can be searched for.
For the whole class the bound is its distance.

Numerators are whole numbers, divided once (see `engine.kernels.closeness`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.closeness import apart, first_at_least, records_of
from engine.kernels.jit import inlined, kernel


@inlined
def _least_in_order(
    begin: np.int64,
    end: np.int64,
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    cumulative: NDArray[np.float64],
    prefix: NDArray[np.float64],
    size: np.int64,
    part: np.int64,
) -> np.float64:
    """Bound the ordered distance of every part of `part` of the `size` records of a class from below.

    With `below` records of the class up to a value and `rest` above it, a part has a share from 1 - rest/part to
    below/part up to that value. Between two neighbouring values of the class that share is constant; nearest to the
    table is its median there, or the end of the range next to it.
    """
    number = cumulative.shape[0]
    records = cumulative[number - 1]
    start = np.int64(0)
    below = np.int64(0)
    total = 0.0
    for i in range(begin, end + 1):
        stop = np.int64(values[i]) if i < end else np.int64(number)
        if start < stop:
            fewest = max(np.int64(0), part - (size - below)) * records
            share = max(fewest, min(min(below, part) * records, cumulative[(start + stop) // 2] * part))
            split = first_at_least(cumulative, part, share, start, stop)
            total += apart(prefix, part, share, start, split, stop)
        start = stop
        if i < end:
            below += counts[i]
    found: np.float64 = total / (part * records * (number - 1))
    return found


@kernel
def largest_parts_in_order(
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    cumulative: NDArray[np.float64],
    prefix: NDArray[np.float64],
    least: int,
    t: float,
) -> NDArray[np.int64]:
    """Bound the records of every part of a class whose ordered distance is at most `t`.

    Parameters
    ----------
    offsets, values, counts, cumulative, prefix
        As for `engine.kernels.closeness.ordered_distances`.
    least : int
        Records that a part must have, at least 1.

    Returns
    -------
    int64, shape (classes,)
        0 if no part of at least `least` records is within `t`.
    """
    classes = offsets.shape[0] - 1
    found = np.zeros(classes, np.int64)
    for c in range(classes):
        begin, end = offsets[c], offsets[c + 1]
        size = records_of(offsets, counts, c)
        if begin == end or size < least:
            continue
        if cumulative.shape[0] == 1:
            found[c] = size
            continue
        # parts of `high` records are too far, those of `low` may not be
        low, high = np.int64(least) - 1, size + 1
        part = size
        while low + 1 < high:
            if _least_in_order(begin, end, values, counts, cumulative, prefix, size, part) <= t:
                low = part
            else:
                high = part
            # after the whole class the smallest part, then halves
            part = np.int64(least) if low < least else (low + high) // 2
        found[c] = low if low >= least else 0
    return found


@inlined
def _largest_in_tree(
    held: NDArray[np.int64],
    table: NDArray[np.float64],
    nodes: int,
    records: np.float64,
    height: int,
    size: np.int64,
    least: np.int64,
    t: float,
) -> np.int64:
    """Return the largest part of a class, from its `size` records down, with a bound of at most `t`; 0 below `least`.

    With one root the distance is the mass, by level below it, that nodes lack of their share of the table. What they
    meet of it, as a function of the part, is concave, so Newton's steps from above do not pass the largest part.
    """
    low, high = least - 1, size + 1
    part = size
    while low + 1 < high:
        met = 0.0
        slope = 0.0
        for i in range(nodes):
            share = table[i] * part
            if held[i] * records < share:
                met += held[i] * records
            else:
                met += share
                slope += table[i]
        whole = records * height
        if (part * whole - met) / (part * whole) <= t:
            low = part
        else:
            high = part
        # where met(part) + slope (root - part) = (1 - t) whole root; one more, since it is rounded
        fall = (1.0 - t) * whole - slope
        root = (met - slope * part) / fall if fall > 0 else 0.0
        part = (low + high) // 2 if low >= least else min(max(np.int64(root) + 1, low + 1), high - 1)
    return low if low >= least else np.int64(0)


@kernel
def largest_parts_in_tree(
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    nodes: NDArray[np.int32],
    totals: NDArray[np.float64],
    least: int,
    t: float,
) -> NDArray[np.int64]:
    """Bound the records of every part of a class whose hierarchical distance is at most `t`.

    Parameters
    ----------
    offsets, values, counts, nodes, totals
        As for `engine.kernels.closeness.hierarchical_distances`; the highest level is one root. A single level below a
        root is equal distance.
    least : int
        Records that a part must have, at least 1.

    Returns
    -------
    int64, shape (classes,)
        0 if no part of at least `least` records is within `t`.
    """
    classes = offsets.shape[0] - 1
    levels, width = totals.shape
    height = levels - 1
    records = totals[0].sum()
    found = np.zeros(classes, np.int64)
    mass = np.zeros(width, np.int64)
    # the nodes with records of a class: its records, and those of the table
    held = np.empty(height * width, np.int64)
    table = np.empty(height * width, np.float64)
    for c in range(classes):
        begin, end = offsets[c], offsets[c + 1]
        size = records_of(offsets, counts, c)
        if begin == end or size < least:
            continue
        if height == 0:
            found[c] = size
            continue
        number = 0
        for level in range(height):
            for i in range(begin, end):
                mass[nodes[level, values[i]]] += counts[i]
            for i in range(begin, end):
                node = nodes[level, values[i]]
                if mass[node] > 0:
                    held[number] = mass[node]
                    table[number] = totals[level, node]
                    mass[node] = 0
                    number += 1
        found[c] = _largest_in_tree(held, table, number, records, height, size, np.int64(least), t)
    return found
