"""The cells of a policy: records and people by tuple of groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


@kernel
def dense_cells(
    positions: NDArray[np.int32],
    groups: NDArray[np.int32],
    offsets: NDArray[np.int64],
    widths: NDArray[np.int64],
    records: NDArray[np.int64],
    people: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sum rows into an array with one cell for every combination of groups.

    Parameters
    ----------
    positions : int32, shape (m, rows)
        Position of each row in the domain of each attribute.
    groups : int32
        Group of each position, attribute by attribute.
    offsets : int64, shape (m,)
        Where the positions of each attribute begin in `groups`.
    widths : int64, shape (m,)
        Groups of each attribute.
    records, people : int64, shape (rows,)

    Returns
    -------
    records, people : int64, shape (product of widths,)
        The last attribute's groups are next to each other.
    """
    size = np.int64(1)
    for a in range(widths.shape[0]):
        size *= widths[a]
    found = np.zeros(size, np.int64)
    found_people = np.zeros(size, np.int64)
    for r in range(positions.shape[1]):
        cell = np.int64(0)
        for a in range(widths.shape[0]):
            cell = cell * widths[a] + groups[offsets[a] + positions[a, r]]
        found[cell] += records[r]
        found_people[cell] += people[r]
    return found, found_people


@kernel
def hashed_cells(
    positions: NDArray[np.int32],
    groups: NDArray[np.int32],
    offsets: NDArray[np.int64],
    records: NDArray[np.int64],
    people: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Sum rows into the cells that occur; parameters as for `dense_cells`.

    Returns
    -------
    codes : int32, shape (cells, m)
        Groups of each cell.
    records, people : int64, shape (cells,)
    """
    attributes, rows = positions.shape
    size = 16
    while size < 2 * rows:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, np.int64(-1))
    codes = np.empty((rows, attributes), np.int32)
    found = np.zeros(rows, np.int64)
    found_people = np.zeros(rows, np.int64)
    cells = 0
    for r in range(rows):
        state = np.uint64(0x9E3779B97F4A7C15)
        for a in range(attributes):
            codes[cells, a] = groups[offsets[a] + positions[a, r]]
            state = (state ^ np.uint64(codes[cells, a])) * np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        slot = np.int64(state & mask)
        while slots[slot] >= 0:
            same = True
            for a in range(attributes):
                if codes[slots[slot], a] != codes[cells, a]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = cells
            cells += 1
        found[slots[slot]] += records[r]
        found_people[slots[slot]] += people[r]
    return codes[:cells].copy(), found[:cells].copy(), found_people[:cells].copy()
