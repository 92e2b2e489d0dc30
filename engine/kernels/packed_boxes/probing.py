"""The rows that fail if one attribute of a box is at its lowest level, and all others at their highest.

The rows of several classes are read together: a loop per class of few rows would take as long to end as to run, since
no processor foresees where. A cell is a class and a label; records are summed by cell, and rows of small cells fail.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.rows import PackedRows

_ROWS = 4096
"""Rows that are read together: classes are added until there are as many."""
_CELLS = 4096
"""Cells that are counted together, so that the tables stay in the fastest memory; more only if one class has more."""
_APART = 80
"""Further cells between tables, so that equal cells of them are not at equal places of a page."""
_SPARSE = 4
"""Cells per row from which tables are mostly empty, and emptied row by row."""


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

    They are marked. It ends early, after some classes, when the records exceed `most` or the weights `dearest`: then
    what the records of all classes would be is estimated, and the other rows have no marks.
    """
    weights, marks, starts = rows.weights, rows.marks, rows.starts
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    bit = one << np.uint64(a)
    failing = np.int64(0)
    cost = np.int64(0)
    # four tables take turns, so the counts of neighbouring rows do not wait for each other
    tables = np.zeros((4, max(_CELLS, width) + _APART), np.int32)
    first, second, third, fourth = tables[0], tables[1], tables[2], tables[3]
    cells = np.empty(0, np.uint32)
    fails = np.empty(0, np.uint32)
    c = 0
    while c < starts.shape[0] - 1:
        stop = c + 1
        most_classes = min(c + max(_CELLS // width, 1), starts.shape[0] - 1)
        while stop < most_classes and starts[stop] - starts[c] < _ROWS:
            stop += 1
        begin, end = np.uint64(starts[c]), np.uint64(starts[stop])
        length = end - begin
        counts = rows.counts[begin:end]
        if cells.shape[0] < length:
            cells = np.empty(length, np.uint32)
            fails = np.empty(length, np.uint32)
        filled = np.uint32(0)
        for d in range(c, stop):
            for r in range(np.uint64(starts[d]), np.uint64(starts[d + 1])):
                cells[r - begin] = filled + np.uint32((words[r] >> shift) & mask)
            filled += np.uint32(width)
        sparse = filled > _SPARSE * length
        if sparse:
            for r in range(length):
                first[cells[r]] += counts[r]
        else:
            for four in range(length >> two):
                row = four << two
                first[cells[row]] += counts[row]
                second[cells[row + one]] += counts[row + one]
                third[cells[row + two]] += counts[row + two]
                fourth[cells[row + three]] += counts[row + three]
            for r in range(length & ~three, length):
                first[cells[r]] += counts[r]
            for cell in range(np.uint64(filled)):
                first[cell] += second[cell] + third[cell] + fourth[cell]
        number = np.uint64(0)
        for r in range(length):
            fails[number] = r
            number += np.uint64(first[cells[r]] < minimum)
        for i in range(number):
            row = begin + np.uint64(fails[i])
            failing += rows.counts[row]
            cost += weights[row]
            marks[row] |= bit
        if sparse:
            for r in range(length):
                first[cells[r]] = 0
        else:
            first[:filled] = 0
            second[:filled] = 0
            third[:filled] = 0
            fourth[:filled] = 0
        c = stop
        if failing > most or cost > dearest:
            # the classes that were not read fail about as often as the others
            return failing * starts[-1] // end, cost
    return failing, cost
