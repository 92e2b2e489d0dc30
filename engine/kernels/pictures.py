"""Who has the same picture: persons by all their cells.

A person's picture is the multiset of the cells of his or her records. Person p has the rows `offsets[p]` to
`offsets[p + 1]`; row r is `counts[r]` records in the cell `cells[r]`, of which a person may have several rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel

_SHORT = 48
"""Up to so many rows a person's cells are sorted by insertion."""


@kernel
def merged_pictures(
    cells: NDArray[np.int32], counts: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Sort each person's cells and merge equal ones.

    Parameters
    ----------
    cells : int32, shape (rows,)
    counts : int64, shape (rows,)
    offsets : int64, shape (P + 1,)

    Returns
    -------
    cells : int32, shape (entries,)
        Ascending for each person, each once.
    counts : int64, shape (entries,)
        Records of the person in the cell.
    offsets : int64, shape (P + 1,)
        Person p has the entries `offsets[p]` to `offsets[p + 1]`.
    """
    persons = offsets.shape[0] - 1
    found = np.empty(cells.shape[0], np.int32)
    records = np.empty(cells.shape[0], np.int64)
    ends = np.zeros(persons + 1, np.int64)
    end = np.int64(0)
    for p in range(persons):
        begin = end
        first, last = offsets[p], offsets[p + 1]
        if last - first <= _SHORT:
            for r in range(first, last):
                cell = cells[r]
                i = end
                while i > begin and found[i - 1] > cell:
                    i -= 1
                if i > begin and found[i - 1] == cell:
                    records[i - 1] += counts[r]
                    continue
                for j in range(end, i, -1):
                    found[j] = found[j - 1]
                    records[j] = records[j - 1]
                found[i] = cell
                records[i] = counts[r]
                end += 1
        else:
            order = np.argsort(cells[first:last])
            for place in order:
                r = first + place
                if end > begin and found[end - 1] == cells[r]:
                    records[end - 1] += counts[r]
                else:
                    found[end] = cells[r]
                    records[end] = counts[r]
                    end += 1
        ends[p + 1] = end
    return found[:end].copy(), records[:end].copy(), ends


@kernel
def equal_pictures(
    cells: NDArray[np.int32], counts: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Group persons with equal pictures, which are merged (`merged_pictures`) and compared entry by entry.

    Returns
    -------
    groups : int32, shape (P,)
        Group of each person, numbered by first appearance.
    number : int
    """
    persons = offsets.shape[0] - 1
    size = 16
    while size < 2 * persons:
        size *= 2
    slots = np.full(size, np.int32(-1))
    hashes = np.empty(size, np.uint64)
    leader = np.empty(persons, np.int32)
    group = np.empty(persons, np.int32)
    found = 0
    for p in range(persons):
        first, last = offsets[p], offsets[p + 1]
        mixed = np.uint64(last - first)
        for i in range(first, last):
            mixed = (mixed ^ np.uint64(cells[i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            mixed = (mixed ^ np.uint64(counts[i])) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(32)
        slot = np.int64(mixed & np.uint64(size - 1))
        while slots[slot] >= 0:
            same = hashes[slot] == mixed
            if same:
                other = offsets[leader[slots[slot]]]
                same = offsets[leader[slots[slot]] + 1] - other == last - first
                for i in range(last - first):
                    if not same:
                        break
                    same = cells[first + i] == cells[other + i] and counts[first + i] == counts[other + i]
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            hashes[slot] = mixed
            leader[found] = p
            found += 1
        group[p] = slots[slot]
    return group, found
