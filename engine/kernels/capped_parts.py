"""The largest part of a class in which no sensitive value is too frequent, for l-diversity and limits of shares.

In: histograms of classes. Out: for each class a number of records that no part of it which satisfies the model exceeds.

Of all parts of one size, those with every count cut off at the same number h are the most diverse: whatever the part,
cutting the class off at the part's largest count keeps at least as many records, and at least as many rare ones
(recursive (c,l)-diversity); its shares are the most even ones (entropy). Both get less diverse as h rises, so the
largest h is found by halving. Where each value has a limit of its own, a part of n records can hold at most that share
of n: the largest n is the last at which these still sum up to n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.diversity import most_frequent, room_for_frequent
from engine.kernels.jit import inlined, kernel

_ROUNDING = 1e-9


@inlined
def _cut_off(counts: NDArray[np.int64], begin: np.int64, end: np.int64, h: np.int64) -> np.int64:
    """Sum the counts of a class, each cut off at h."""
    total = np.int64(0)
    for i in range(begin, end):
        total += min(counts[i], h)
    return total


@kernel
def largest_recursive_parts(
    offsets: NDArray[np.int64], counts: NDArray[np.int64], rank: int, c: float
) -> NDArray[np.int64]:
    """Return the records of the largest part whose most frequent value is rarer than `c` times the rare ones.

    Parameters
    ----------
    offsets : int64, shape (classes + 1,)
        Class i holds `counts[offsets[i]:offsets[i + 1]]`.
    rank : int
        At least 2; values are rare from the `rank`-th most frequent one on.

    Returns
    -------
    int64, shape (classes,)
        0 if there is no such part.
    """
    classes = offsets.shape[0] - 1
    found = np.zeros(classes, np.int64)
    frequent = room_for_frequent(offsets, rank)
    for k in range(classes):
        begin, end = offsets[k], offsets[k + 1]
        if end - begin < rank:
            continue
        most_frequent(counts, begin, end, frequent)
        low, high = np.int64(0), frequent[0] + 1
        h = frequent[0]
        while low + 1 < high:
            total = _cut_off(counts, begin, end, h)
            rare = total - _cut_off(frequent, np.int64(0), np.int64(rank - 1), h)
            if h / rare < c:
                low = h
                found[k] = total
            else:
                high = h
            h = (low + high) // 2
    return found


@kernel
def largest_even_parts(offsets: NDArray[np.int64], counts: NDArray[np.int64], number: float) -> NDArray[np.int64]:
    """Bound the records of every part whose entropy is that of `number` equal shares.

    Parameters
    ----------
    offsets, counts
        As for `largest_recursive_parts`.
    number : float
        Above 1; it may be missed by a share of 1e-9 of the entropy, which is more than rounding.

    Returns
    -------
    int64, shape (classes,)
        0 if a class has fewer values.
    """
    classes = offsets.shape[0] - 1
    found = np.zeros(classes, np.int64)
    for k in range(classes):
        begin, end = offsets[k], offsets[k + 1]
        if end - begin < number:
            continue
        largest = np.max(counts[begin:end])
        low, high = np.int64(0), largest + 1
        h = largest
        found[k] = _cut_off(counts, begin, end, h)
        while low + 1 < high:
            total = 0.0
            weighed = 0.0
            for i in range(begin, end):
                kept = float(min(counts[i], h))
                total += kept
                weighed += kept * np.log(kept)
            if weighed <= total * (np.log(total) - np.log(number)) + _ROUNDING * total * (1.0 + np.log(total)):
                low = h
            else:
                high = h
                # a part between those cut off at h - 1 and at h may do
                found[k] = np.int64(total) - 1
            h = (low + high) // 2
    return found


@kernel
def largest_parts_of_shares(
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    shares: NDArray[np.float64],
    least: int,
) -> NDArray[np.int64]:
    """Bound the records of every part in which no value has more than its share.

    Parameters
    ----------
    offsets, values, counts
        Class i holds `values[offsets[i]:offsets[i + 1]]`, with as many `counts`.
    shares : float64, shape (V,)
        Largest share of each value; it may be exceeded by 1e-9 of itself, which is more than rounding.
    least : int
        Records that a part must have.

    Returns
    -------
    int64, shape (classes,)
        0 if no part has as many.
    """
    classes = offsets.shape[0] - 1
    found = np.zeros(classes, np.int64)
    for k in range(classes):
        total = 0.0
        for i in range(offsets[k], offsets[k + 1]):
            total += counts[i]
        part = total
        while True:
            # what exceeds its share at this size exceeds it at any smaller one
            free = 0.0
            limited = 0.0
            for i in range(offsets[k], offsets[k + 1]):
                share = shares[values[i]] * (1.0 + _ROUNDING)
                if counts[i] > share * part:
                    limited += share
                else:
                    free += counts[i]
            smaller = free / (1.0 - limited) if limited < 1.0 else part
            if smaller >= part:
                break
            part = smaller
        most = np.int64(part * (1.0 + _ROUNDING))
        found[k] = most if most >= least else 0
    return found
