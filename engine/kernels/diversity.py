"""Frequent and rare sensitive values of each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


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
    longest = 1
    for c in range(classes):
        longest = max(longest, offsets[c + 1] - offsets[c])
    # no larger than a class: the rank is a number of the job
    top = np.zeros(min(rank - 1, longest), np.int64)
    for c in range(classes):
        if offsets[c + 1] - offsets[c] < rank:
            for i in range(offsets[c], offsets[c + 1]):
                largest[c] = max(largest[c], counts[i])
            continue
        top[:] = 0
        total = np.int64(0)
        for i in range(offsets[c], offsets[c + 1]):
            value = counts[i]
            total += value
            place = rank - 2
            if value > top[place]:
                while place > 0 and top[place - 1] < value:
                    top[place] = top[place - 1]
                    place -= 1
                top[place] = value
        largest[c] = top[0]
        tail[c] = total - top.sum()
    return largest, tail
