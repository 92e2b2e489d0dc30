"""Partitions refined by one more attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel

_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_PER_CLASS = 16
"""With fewer rows per class, rows beside each other are seldom of the same one."""


@kernel
def refine(
    gid: NDArray[np.int32],
    classes: int,
    leaf: NDArray[np.int32],
    codes: NDArray[np.int32],
    width: int,
) -> tuple[NDArray[np.int32], int]:
    """Split the classes of a partition by the code of one attribute.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row, 0 to `classes` - 1.
    leaf : int32, shape (rows,)
        Leaf code of the attribute.
    codes : int32, shape (leaves,)
        Code of each leaf at the wanted level, 0 to `width` - 1.

    Returns
    -------
    gid : int32, shape (rows,)
        Classes of the refined partition, numbered by first appearance.
    classes : int
    """
    rows = gid.shape[0]
    refined = np.empty(rows, np.int32)
    found = 0
    old, leaves, higher, step = gid.view(np.uint32), leaf.view(np.uint32), codes.view(np.uint32), np.uint64(width)
    if classes * width <= 16 * rows + 1024:
        table = np.full(classes * width, np.int32(-1))
        for r in range(rows):
            key = old[r] * step + higher[leaves[r]]
            if table[key] < 0:
                table[key] = found
                found += 1
            refined[r] = table[key]
        return refined, found
    size = 16
    while size < 2 * rows:
        size *= 2
    last = np.uint64(size - 1)
    keys = np.full(size, _EMPTY)
    numbers = np.empty(size, np.int32)
    for r in range(rows):
        key = old[r] * step + higher[leaves[r]]
        mixed = key * np.uint64(0x9E3779B97F4A7C15)
        slot = (mixed ^ (mixed >> np.uint64(32))) & last
        while keys[slot] != key and keys[slot] != _EMPTY:
            slot = (slot + np.uint64(1)) & last
        if keys[slot] == _EMPTY:
            keys[slot] = key
            numbers[slot] = found
            found += 1
        refined[r] = numbers[slot]
    return refined, found


@kernel
def rows_unlike_first(gid: NDArray[np.int32], classes: int, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rows whose code, at least 0, is another one than that of the first row of their class."""
    first = np.full(classes, np.int32(-1))
    unlike = np.empty(gid.shape[0], np.int64)
    found = 0
    for r in range(gid.shape[0]):
        if first[gid[r]] < 0:
            first[gid[r]] = codes[r]
        elif first[gid[r]] != codes[r]:
            unlike[found] = r
            found += 1
    return unlike[:found].copy()


@kernel
def class_firsts(gid: NDArray[np.int32], classes: int, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least `first` of each class, shape (classes,)."""
    least = np.full(classes, np.iinfo(np.int64).max)
    for r in range(gid.shape[0]):
        least[gid[r]] = min(least[gid[r]], first[r])
    return least


@kernel
def costs_of_rows(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
    kept: NDArray[np.float64],
    suppressed: NDArray[np.float64],
) -> tuple[float, float]:
    """Sum two costs of the records of chosen rows: each is one per code, shape (codes,)."""
    total = np.zeros(kept.shape[0], np.int64)
    for i in range(rows.shape[0]):
        total[codes[rows[i]]] += counts[rows[i]]
    cost, other = 0.0, 0.0
    for code in range(total.shape[0]):
        cost += kept[code] * total[code]
        other += suppressed[code] * total[code]
    return cost, other


@kernel
def class_counts(gid: NDArray[np.int32], classes: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum the records of each class, shape (classes,)."""
    total = np.zeros(classes, np.int64)
    of = gid.view(np.uint32)
    rows = np.uint64(gid.shape[0])
    if _PER_CLASS * classes > rows:
        for r in range(rows):
            total[of[r]] += counts[r]
        return total
    # four tables take turns, so the sums of neighbouring rows do not wait for each other
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    others = np.zeros((3, classes), np.int64)
    second, third, fourth = others[0], others[1], others[2]
    for four in range(rows >> two):
        row = four << two
        total[of[row]] += counts[row]
        second[of[row + one]] += counts[row + one]
        third[of[row + two]] += counts[row + two]
        fourth[of[row + three]] += counts[row + three]
    for r in range(rows & ~three, rows):
        total[of[r]] += counts[r]
    for c in range(classes):
        total[c] += second[c] + third[c] + fourth[c]
    return total


@kernel
def rows_of_classes(gid: NDArray[np.int32], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows whose class is wanted, ascending; `wanted` has shape (classes,)."""
    found = np.empty(gid.shape[0], np.int64)
    end = 0
    for r in range(gid.shape[0]):
        # no branch: which rows are wanted cannot be foreseen
        found[end] = r
        end += wanted[gid[r]]
    return found[:end].copy()


@kernel
def add_records(places: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Count records by place, 0 to `counts.size` - 1, in place."""
    for i in range(places.shape[0]):
        counts[places[i]] += 1
