"""Cells of tuples at one level vector, made from those at the vector below, for prices of records.

A cell that holds several finer ones needs no look at their tuples: its k heaviest records are among theirs. So a step
costs as much as there are cells and heaviest records, not as many tuples as there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel


class Cells(NamedTuple):
    """The cells of C labels, and the heaviest records of each: k, or all if there are fewer.

    Attributes
    ----------
    keys : int64, shape (C,)
        The labels of all attributes, each in bits of its own.
    first : int32, shape (C,)
        A tuple of each cell.
    costs : float64, shape (C,)
        Of a record, by the attributes whose levels are settled.
    reached : float64, shape (C,)
        The largest ratio that a tuple of the cell is known to have (`ratios`); infinite at first.
    cell : int32, shape (E,)
        Cell of each entry: of records of one weight.
    tuples : int32, shape (E,)
        A tuple with this weight; ascending, as tuples are in the order of descending weights.
    records : int32, shape (E,)
    """

    keys: NDArray[np.int64]
    first: NDArray[np.int32]
    costs: NDArray[np.float64]
    reached: NDArray[np.float64]
    cell: NDArray[np.int32]
    tuples: NDArray[np.int32]
    records: NDArray[np.int32]


@inlined
def _numbered(keys: NDArray[np.int64], mask: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the number of each key under a mask, in order of appearance, and the first place of each number."""
    size = 16
    while size < 2 * keys.size:
        size *= 2
    slots = np.full(size, -1, np.int32)
    number = np.empty(keys.size, np.int32)
    first = np.empty(keys.size, np.int32)
    found = 0
    for i in range(keys.size):
        key = keys[i] & mask
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))
        while slots[slot] >= 0 and keys[first[slots[slot]]] & mask != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = i
            found += 1
        number[i] = slots[slot]
    return number, first[:found]


@kernel
def coarser(
    cells: Cells, leaves: NDArray[np.int32], change: NDArray[np.int64], k: int, weights: NDArray[np.float64]
) -> tuple[Cells, NDArray[np.int32]]:
    """Raise one attribute by one level; return the cells, and in which of them each cell is.

    Parameters
    ----------
    leaves : int32, shape (R,)
        Of the attribute, per tuple.
    change : int64, shape (leaves,)
        What the next level adds to the key of a leaf.
    weights : float64, shape (R,)
        Descending.
    """
    size = cells.keys.size
    keys = np.empty(size, np.int64)
    for i in range(size):
        keys[i] = cells.keys[i] + change[leaves[cells.first[i]]]
    place, first = _numbered(keys, -1)
    reached = np.zeros(first.size, np.float64)
    for i in range(size):
        reached[place[i]] = max(reached[place[i]], cells.reached[i])
    # of each cell, the records so far and the last entry
    state = np.zeros((first.size, 2), np.int32)
    state[:, 1] = -1
    entries = cells.cell.size
    cell, tuples, records = np.empty(entries, np.int32), np.empty(entries, np.int32), np.empty(entries, np.int32)
    end = 0
    for i in range(entries):
        p = place[cells.cell[i]]
        if state[p, 0] < k:
            more = min(cells.records[i], k - state[p, 0])
            state[p, 0] += more
            last = state[p, 1]
            if last >= 0 and weights[tuples[last]] == weights[cells.tuples[i]]:
                records[last] += more
            else:
                cell[end], tuples[end], records[end] = p, cells.tuples[i], more
                state[p, 1] = end
                end += 1
    return (
        Cells(
            keys[first],
            cells.first[first],
            cells.costs[first],
            reached,
            cell[:end].copy(),
            tuples[:end].copy(),
            records[:end].copy(),
        ),
        place,
    )


@kernel
def ratios(cells: Cells, costs: NDArray[np.float64], k: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return k times the cost of each cell over the sum of its k largest weights; infinite for one that has fewer."""
    size = cells.keys.size
    have, total = np.zeros(size, np.int64), np.zeros(size, np.float64)
    for i in range(cells.cell.size):
        have[cells.cell[i]] += cells.records[i]
        total[cells.cell[i]] += cells.records[i] * weights[cells.tuples[i]]
    found = np.full(size, np.inf)
    for i in range(size):
        if have[i] >= k and total[i] > 0.0:
            found[i] = k * costs[i] / total[i]
    return found


@kernel
def promising(cells: Cells, mask: int, k: int, weights: NDArray[np.float64]) -> tuple[NDArray[np.int32], Cells]:
    """Leave out cells of which nothing coarser lowers a ratio; return the number of each, -1 for none, and the rest.

    Cells are looked at together with all others that have their labels of the settled attributes: whatever happens to
    the other attributes, no cell is larger than these together. Too few records are too few then; and no cell has a
    ratio below that of their least cost and their k largest weights.

    Parameters
    ----------
    mask : int
        The bits of settled attributes.
    """
    size = cells.keys.size
    together, first = _numbered(cells.keys, mask)
    reached = np.zeros(first.size, np.float64)
    for i in range(size):
        reached[together[i]] = max(reached[together[i]], cells.reached[i])
    have, total = np.zeros(first.size, np.int64), np.zeros(first.size, np.float64)
    for i in range(cells.cell.size):
        p = together[cells.cell[i]]
        if have[p] < k:
            more = min(np.int64(cells.records[i]), k - have[p])
            have[p] += more
            total[p] += more * weights[cells.tuples[i]]
    number = np.full(size, -1, np.int32)
    left = 0
    for i in range(size):
        p = together[i]
        # a hair more than is needed: the sums are of the same terms in another order elsewhere
        if have[p] >= k and total[p] > 0.0 and k * cells.costs[first[p]] < reached[p] * total[p] * (1.0 + 1e-9):
            number[i] = left
            left += 1
    if left == size:
        return number, cells
    chosen = np.flatnonzero(number >= 0)
    end = 0
    entries = cells.cell.size
    cell, tuples, records = np.empty(entries, np.int32), np.empty(entries, np.int32), np.empty(entries, np.int32)
    for i in range(entries):
        if number[cells.cell[i]] >= 0:
            cell[end], tuples[end], records[end] = number[cells.cell[i]], cells.tuples[i], cells.records[i]
            end += 1
    return (
        number,
        Cells(
            cells.keys[chosen],
            cells.first[chosen],
            cells.costs[chosen],
            cells.reached[chosen],
            cell[:end].copy(),
            tuples[:end].copy(),
            records[:end].copy(),
        ),
    )


@kernel
def lower(found: NDArray[np.float64], others: NDArray[np.float64], place: NDArray[np.int32]) -> None:
    """Lower numbers, in place, to those that others have at a place; -1 is none."""
    for i in range(found.size):
        if place[i] >= 0:
            found[i] = min(found[i], others[place[i]])
