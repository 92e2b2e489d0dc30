"""Moves of a local search: which tuple of a class is better off in another one, and which class is best dissolved.

Classes are given as rows one after another; a row that goes, goes to the class of its block whose loss rises least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape, cell_cost, met_cost, shared
from engine.kernels.jit import kernel
from engine.kernels.joining import Cells

MOST_ROWS = 64
"""Rows of a class at most, of which one is moved: for each of them the labels that the others share are found."""
ONE_ROW, ALL_ROWS = 1, 2
"""Which moves of a class are looked for."""


@kernel
def tight_cells(
    shape: Shape,
    leaves: NDArray[np.int32],
    records: NDArray[np.int64],
    order: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> Cells:
    """Return the cells of classes under the lowest labels that their rows share.

    Parameters
    ----------
    leaves : int32, shape (P, m)
        Of each row.
    records : int64, shape (P,)
    order : int64, shape (P,)
        Rows, those of a class one after another.
    offsets : int64, shape (C + 1,)
        Where the rows of each class begin; one without rows has size 0 and cost 0.
    """
    number, m = offsets.shape[0] - 1, leaves.shape[1]
    first = np.zeros((number, m), np.int32)
    levels = np.empty((number, m), np.int64)
    sizes, costs = np.zeros(number), np.zeros(number)
    for c in range(number):
        levels[c] = shape.low
        if offsets[c] == offsets[c + 1]:
            continue
        first[c] = leaves[order[offsets[c]]]
        for place in range(offsets[c], offsets[c + 1]):
            row = order[place]
            sizes[c] += records[row]
            for a in range(m):
                levels[c, a] = shared(shape, a, first[c, a], leaves[row, a], levels[c, a])
        costs[c] = cell_cost(shape, first[c], levels[c])
    return Cells(first, levels, sizes, costs)


@kernel
def best_moves(
    shape: Shape,
    leaves: NDArray[np.int32],
    records: NDArray[np.int64],
    order: NDArray[np.int64],
    offsets: NDArray[np.int64],
    cells: Cells,
    begin: int,
    end: int,
    least: int,
    asks: NDArray[np.int8],
    gains: NDArray[np.float64],
    movers: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> None:
    """Find the best move of each class of a block: of one row, or of all.

    Parameters
    ----------
    leaves, records, order, offsets
        See `tight_cells`.
    begin, end : int
        The classes of the block.
    least : int
        Records that every class must keep.
    asks : int8, shape (C,)
        Which moves of each class are looked for, `ONE_ROW` and `ALL_ROWS` added up.
    gains : float64, shape (C,)
        Result: what the loss falls by, at most 0 if there is no move.
    movers : int64, shape (C,)
        Result: the row that moves; -1 if all do.
    targets : int64, shape (P,)
        Result: the class to which each row would go.
    """
    m = leaves.shape[1]
    low = shape.low
    levels = np.empty(m, np.int64)
    for c in range(begin, end):
        gains[c] = 0.0
        movers[c] = -1
        rows = offsets[c + 1] - offsets[c]
        if asks[c] == 0 or rows == 0 or cells.costs[c] == 0.0:
            continue
        size, cost = cells.sizes[c], cells.costs[c]
        left = size * cost
        single = 0.0
        mover = -1
        for place in range(offsets[c], offsets[c + 1]):
            row = order[place]
            best = np.inf
            targets[row] = -1
            for other in range(begin, end):
                if other == c or cells.sizes[other] == 0.0:
                    continue
                before = cells.sizes[other] * cells.costs[other]
                most = (best + before) / (cells.sizes[other] + records[row])
                met = met_cost(shape, cells.leaves[other], cells.levels[other], leaves[row], low, most)
                rise = (cells.sizes[other] + records[row]) * met - before
                if rise < best:
                    best = rise
                    targets[row] = other
            left -= best
            if asks[c] & ONE_ROW == 0 or rows > MOST_ROWS or rows == 1 or size - records[row] < least:
                continue
            if size * cost - best <= single:
                continue
            # what the others of the class cost without this row
            one = order[offsets[c]] if place > offsets[c] else order[offsets[c] + 1]
            levels[:] = low
            for further in range(offsets[c], offsets[c + 1]):
                if further != place:
                    for a in range(m):
                        levels[a] = shared(shape, a, leaves[one, a], leaves[order[further], a], levels[a])
            gain = size * cost - (size - records[row]) * cell_cost(shape, leaves[one], levels) - best
            if gain > single:
                single = gain
                mover = row
        if asks[c] & ALL_ROWS != 0 and left > single:
            gains[c] = left
        elif mover >= 0:
            gains[c] = single
            movers[c] = mover
