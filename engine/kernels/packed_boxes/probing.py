"""The rows that fail if one attribute of a box is at its lowest level, and all others at their highest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.rows import PackedRows


@kernel
def probe(
    rows: PackedRows,
    words: NDArray[np.uint64],
    shift: np.uint64,
    mask: np.uint64,
    width: int,
    minimum: int,
    a: int,
    most: np.int64,
    dearest: np.int64,
) -> tuple[np.int64, np.int64]:
    """Sum records and weights of the rows that fail if the classes are refined by the labels of attribute a.

    They are marked. It ends early, with a class, when the records exceed `most` or the weights `dearest`: then what the
    records of all classes would be is estimated, and the other rows have no marks.
    """
    counts, weights, marks, starts = rows.counts, rows.weights, rows.marks, rows.starts
    one = np.uint64(1)
    bit = one << np.uint64(a)
    # two tables alternate, so the counts of neighbouring labels do not wait for each other
    even = np.zeros(width, np.int32)
    odd = np.zeros(width, np.int32)
    failing = np.int64(0)
    cost = np.int64(0)
    for c in range(starts.shape[0] - 1):
        begin = np.uint64(starts[c])
        end = np.uint64(starts[c + 1])
        fails = True
        few = width > np.int64(end - begin)
        if few:
            for r in range(begin, end):
                even[(words[r] >> shift) & mask] += counts[r]
        else:
            for pair in range((end - begin) >> one):
                left = begin + (pair << one)
                right = left + one
                even[(words[left] >> shift) & mask] += counts[left]
                odd[(words[right] >> shift) & mask] += counts[right]
            if (end - begin) & one:
                last = end - one
                even[(words[last] >> shift) & mask] += counts[last]
            fails = False
            for label in range(width):
                even[label] += odd[label]
                odd[label] = 0
                fails |= (even[label] > 0) & (even[label] < minimum)
        if fails:
            for r in range(begin, end):
                if even[(words[r] >> shift) & mask] < minimum:
                    failing += counts[r]
                    cost += weights[r]
                    marks[r] |= bit
        if few:
            for r in range(begin, end):
                even[(words[r] >> shift) & mask] = 0
        else:
            even[:] = 0
        if failing > most or cost > dearest:
            # the classes that were not read fail about as often as the others
            return failing * starts[-1] // starts[c + 1], cost
    return failing, cost
