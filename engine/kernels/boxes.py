"""Passes over the rows of a box of the lattice: what fails when one attribute refines the classes, and roll-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel


@inlined
def _slot(key: np.int64, size: int) -> np.int64:
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


@kernel
def small_classes(
    gid: NDArray[np.int32],
    classes: int,
    column: NDArray[np.int32],
    width: int,
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    minimum: int,
) -> tuple[np.int64, NDArray[np.float64]]:
    """Sum the rows in classes below a size, when a partition is refined by one column.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row, 0 to `classes` - 1.
    column : int32, shape (rows,)
        Codes that refine it, 0 to `width` - 1.
    counts : int64, shape (rows,)
        Records.
    weights : float64, shape (parts, rows)
        Weights that are summed as well.
    minimum : int
        Records a class must have.

    Returns
    -------
    records : int64
        In classes with fewer.
    sums : float64, shape (parts,)
        Weights of their rows.
    """
    rows = gid.shape[0]
    parts = weights.shape[0]
    failing = np.int64(0)
    sums = np.zeros(parts, np.float64)
    cells = classes * width
    if parts == 1 and cells <= 2 * rows + 1024:
        pair = np.zeros((cells, 2), np.float64)
        for r in range(rows):
            cell = np.int64(gid[r]) * width + column[r]
            pair[cell, 0] += counts[r]
            pair[cell, 1] += weights[0, r]
        small = 0.0
        for cell in range(cells):
            if pair[cell, 0] < minimum:
                small += pair[cell, 0]
                sums[0] += pair[cell, 1]
        return np.int64(small), sums
    if cells <= 16 * rows + 1024:
        total = np.zeros(classes * width, np.int64)
        for r in range(rows):
            total[np.int64(gid[r]) * width + column[r]] += counts[r]
        for r in range(rows):
            if total[np.int64(gid[r]) * width + column[r]] < minimum:
                failing += counts[r]
                for part in range(parts):
                    sums[part] += weights[part, r]
        return failing, sums
    size = 16
    while size < 2 * rows:
        size *= 2
    keys = np.full(size, np.int64(-1))
    total = np.zeros(size, np.int64)
    place = np.empty(rows, np.int32)
    for r in range(rows):
        key = np.int64(gid[r]) * width + column[r]
        slot = _slot(key, size)
        while keys[slot] != key and keys[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        keys[slot] = key
        total[slot] += counts[r]
        place[r] = slot
    for r in range(rows):
        if total[place[r]] < minimum:
            failing += counts[r]
            for part in range(parts):
                sums[part] += weights[part, r]
    return failing, sums


@kernel
def failing_rows(
    gid: NDArray[np.int32], fails: NDArray[np.bool_], counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[np.int64, np.int64, NDArray[np.float64]]:
    """Sum the rows of failing classes: their number, their records, and their weights by part, shape (parts,)."""
    failing = np.int64(0)
    number = np.int64(0)
    parts = weights.shape[0]
    sums = np.zeros(parts, np.float64)
    for r in range(gid.shape[0]):
        if fails[gid[r]]:
            number += 1
            failing += counts[r]
            for part in range(parts):
                sums[part] += weights[part, r]
    return number, failing, sums


@kernel
def least_lost(
    gid: NDArray[np.int32], lost: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bound the weights of rows of which each class loses some records, whichever they are.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row.
    lost : int64, shape (classes,)
        Records that it loses at least.
    counts : int64, shape (rows,)
        Records.
    weights : float64, shape (parts, rows)
        Weights of whole rows.

    Returns
    -------
    float64, shape (parts,)
        As if all of them were those of the lowest weight per record.
    """
    parts = weights.shape[0]
    sums = np.zeros(parts, np.float64)
    least = np.empty(lost.shape[0], np.float64)
    for part in range(parts):
        least[:] = np.inf
        for r in range(gid.shape[0]):
            if lost[gid[r]] > 0 and counts[r] > 0:
                least[gid[r]] = min(least[gid[r]], weights[part, r] / counts[r])
        for c in range(lost.shape[0]):
            if lost[c] > 0:
                sums[part] += lost[c] * least[c]
    return sums


@kernel
def merged_keys(keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Enumerate distinct keys.

    Parameters
    ----------
    keys : int64, shape (rows,)
        At least 0.

    Returns
    -------
    owner : int32, shape (rows,)
        Number of each row's key, by first appearance.
    first : int64, shape (distinct,)
        Row where each key appears first.
    """
    rows = keys.shape[0]
    size = 16
    while size < 2 * rows:
        size *= 2
    slots = np.full(size, np.int64(-1))
    numbers = np.empty(size, np.int32)
    owner = np.empty(rows, np.int32)
    first = np.empty(rows, np.int64)
    distinct = 0
    for r in range(rows):
        key = keys[r]
        slot = _slot(key, size)
        while slots[slot] != key and slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = key
            numbers[slot] = distinct
            first[distinct] = r
            distinct += 1
        owner[r] = numbers[slot]
    return owner, first[:distinct].copy()


@kernel
def extend_keys(keys: NDArray[np.int64], column: NDArray[np.int32], width: int) -> None:
    """Combine each key, in place, with a code of 0 to `width` - 1."""
    for r in range(keys.shape[0]):
        keys[r] = keys[r] * width + column[r]


@kernel
def recoded(column: NDArray[np.int32], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Replace each code by `codes[code]`, shape (rows,)."""
    found = np.empty_like(column)
    for r in range(column.shape[0]):
        found[r] = codes[column[r]]
    return found


@kernel
def summed_weights(owner: NDArray[np.int32], pairs: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the weights, shape (parts, rows), of the rows with the same owner, shape (parts, pairs)."""
    sums = np.zeros((weights.shape[0], pairs), np.float64)
    for part in range(weights.shape[0]):
        for r in range(owner.shape[0]):
            sums[part, owner[r]] += weights[part, r]
    return sums


@kernel
def with_cost(
    weights: NDArray[np.float64], column: NDArray[np.int32], counts: NDArray[np.int64], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add to each row's weight the cost of its code per record times its records, shape (rows,)."""
    found = np.empty_like(weights)
    for r in range(column.shape[0]):
        found[r] = weights[r] + cost[column[r]] * counts[r]
    return found


@kernel
def most_classes(
    gid: NDArray[np.int32], classes: int, counts: NDArray[np.int64], minimum: int
) -> tuple[np.int64, np.int64]:
    """Return how many large enough classes a partition can be split into at most, and the rows with records.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row, 0 to `classes` - 1.
    counts : int64, shape (rows,)
        Records.
    minimum : int
        Records a class must have, at least 1.
    """
    small = np.zeros(classes, np.int64)
    most = present = np.int64(0)
    for r in range(gid.shape[0]):
        present += counts[r] > 0
        if counts[r] < minimum:
            small[gid[r]] += counts[r]
        else:
            most += 1
    for c in range(classes):
        most += small[c] // minimum
    return most, present
