"""Passes over the rows of a box of the lattice: what fails when one attribute refines the classes, and roll-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _slot(key: np.uint64, last: np.uint64) -> np.uint64:
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(32))) & last


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
    classes_of, codes, step = gid.view(np.uint32), column.view(np.uint32), np.uint64(width)
    if parts == 1 and cells <= 2 * rows + 1024:
        pair = np.zeros((cells, 2), np.float64)
        for r in range(rows):
            cell = classes_of[r] * step + codes[r]
            pair[cell, 0] += counts[r]
            pair[cell, 1] += weights[0, r]
        small = 0.0
        for c in range(cells):
            if pair[c, 0] < minimum:
                small += pair[c, 0]
                sums[0] += pair[c, 1]
        return np.int64(small), sums
    if cells <= 16 * rows + 1024:
        total = np.zeros(classes * width, np.int64)
        for r in range(rows):
            total[classes_of[r] * step + codes[r]] += counts[r]
        for r in range(rows):
            if total[classes_of[r] * step + codes[r]] < minimum:
                failing += counts[r]
                for part in range(parts):
                    sums[part] += weights[part, r]
        return failing, sums
    size = 16
    while size < 2 * rows:
        size *= 2
    last = np.uint64(size - 1)
    keys = np.full(size, _EMPTY)
    total = np.zeros(size, np.int64)
    place = np.empty(rows, np.uint32)
    for r in range(rows):
        key = classes_of[r] * step + codes[r]
        slot = _slot(key, last)
        while keys[slot] != key and keys[slot] != _EMPTY:
            slot = (slot + np.uint64(1)) & last
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
    classes_of = gid.view(np.uint32)
    for r in range(gid.shape[0]):
        if fails[classes_of[r]]:
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
    last = np.uint64(size - 1)
    slots = np.full(size, _EMPTY)
    numbers = np.empty(size, np.int32)
    owner = np.empty(rows, np.int32)
    first = np.empty(rows, np.int64)
    distinct = 0
    for r in range(rows):
        key = np.uint64(keys[r])
        slot = _slot(key, last)
        while slots[slot] != key and slots[slot] != _EMPTY:
            slot = (slot + np.uint64(1)) & last
        if slots[slot] == _EMPTY:
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
    old = column.view(np.uint32)
    for r in range(column.shape[0]):
        found[r] = codes[old[r]]
    return found


@kernel
def summed_weights(owner: NDArray[np.int32], pairs: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the weights, shape (parts, rows), of the rows with the same owner, shape (parts, pairs)."""
    sums = np.zeros((weights.shape[0], pairs), np.float64)
    owners = owner.view(np.uint32)
    for part in range(weights.shape[0]):
        for r in range(owner.shape[0]):
            sums[part, owners[r]] += weights[part, r]
    return sums


@kernel
def with_cost(
    weights: NDArray[np.float64], column: NDArray[np.int32], counts: NDArray[np.int64], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add to each row's weight the cost of its code per record times its records, shape (rows,)."""
    found = np.empty_like(weights)
    codes = column.view(np.uint32)
    for r in range(column.shape[0]):
        found[r] = weights[r] + cost[codes[r]] * counts[r]
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
