"""Frequent and rare sensitive values of each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel


@inlined
def room_for_frequent(offsets: NDArray[np.int64], rank: int) -> NDArray[np.int64]:
    """Return room for the counts of a class above the `rank`-th: no larger than a class, the rank is of the job."""
    longest = 1
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    return np.zeros(min(rank - 1, longest), np.int64)


@inlined
def most_frequent(counts: NDArray[np.int64], begin: np.int64, end: np.int64, top: NDArray[np.int64]) -> np.int64:
    """Put the largest counts of a class into `top`, in descending order; return the sum of all."""
    top[:] = 0
    total = np.int64(0)
    for i in range(begin, end):
        value = counts[i]
        total += value
        place = top.shape[0] - 1
        if value > top[place]:
            while place > 0 and top[place - 1] < value:
                top[place] = top[place - 1]
                place -= 1
            top[place] = value
    return total


@kernel
def largest_and_tail(
    offsets: NDArray[np.int64], counts: NDArray[np.int64], rank: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the largest count of each class, and the sum of its counts from the `rank`-th largest on.

    Parameters
    ----------
    offsets : int64, shape (classes + 1,)
        Class c holds `counts[offsets[c]:offsets[c + 1]]`, at least one.

    Returns
    -------
    largest, tail : int64, shape (classes,)
        `tail` is 0 for a class with fewer than `rank` values.
    """
    classes = offsets.shape[0] - 1
    largest = np.zeros(classes, np.int64)
    tail = np.zeros(classes, np.int64)
    top = room_for_frequent(offsets, rank)
    for c in range(classes):
        if offsets[c + 1] - offsets[c] < rank:
            for i in range(offsets[c], offsets[c + 1]):
                largest[c] = max(largest[c], counts[i])
            continue
        total = most_frequent(counts, offsets[c], offsets[c + 1], top)
        largest[c] = top[0]
        tail[c] = total - top.sum()
    return largest, tail
