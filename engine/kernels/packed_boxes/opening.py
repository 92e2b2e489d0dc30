"""A box is left with what may be wanted: halved as its parent says, tightened, bounded, and brought up to what waits.

In: the rows of a box or of its parent, and what is known of the box. Out: the rows that are left, with the bounds of
its two choices for each attribute. What is cheap comes first: levels are left out one attribute at a time, then by all
choices of attributes, and only what none of these rules out reads the tuples that wait.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.choices import bound_of_choices
from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, Tuples, Waiting
from engine.kernels.packed_boxes.splitting import split_classes
from engine.kernels.packed_boxes.tightening import tighten_box
from engine.kernels.packed_boxes.waiting import catch_up

WHOLE, LOWER, UPPER = 0, 1, 2
"""Which part of the box that the rows are of."""


@kernel
def open_box(
    rows: PackedRows,
    waiting: Waiting,
    tuples: Tuples,
    bottom: NDArray[np.int64],
    bounds: Bounds,
    part: int,
    at: int,
    minimum: int,
    large: int,
    limit: int,
    ceiling: int,
    labels: Labels,
) -> tuple[bool, PackedRows, Waiting, np.int64, NDArray[np.int64], NDArray[np.int64], np.int64]:
    """Leave out of a box, or of a half of it, what costs more than the ceiling, as far as can be told.

    Parameters
    ----------
    rows, waiting : PackedRows, Waiting
        All tuples of the box are in one of them.
    tuples : Tuples
        All of the table.
    bottom : int64, shape (m,)
        The levels of their codes.
    bounds : Bounds
        Those of the box; they are changed to those of what is left.
    part, at : int
        `WHOLE`, or the half to be opened and the attribute at which the box is split.
    minimum : int
        Records a class must have.
    large : int
        Minimum number of records of a class that waits.
    limit : int
        Records that may be suppressed.
    ceiling : int
        Transformations with a higher cost are not wanted.

    Returns
    -------
    bool
        Whether the box may hold something that is wanted; if not, what else is returned has no meaning.
    PackedRows, Waiting
    int64; int64, shape (m,); int64, shape (m, levels)
        The bounds of `bound_of_choices`.
    int64
        Passes over the rows.
    """
    rows = halved(rows, bounds, part, at, minimum, limit, labels)
    passes = np.int64(0)
    least = bounds.sums[0]
    staying = bounds.low.copy()
    rising = bounds.rises.copy()
    while True:
        alive, rows, read = tighten_box(rows, bounds, minimum, limit, ceiling, labels)
        passes += read + 1
        if not alive:
            return False, rows, waiting, least, staying, rising, passes
        least, staying, rising = bound_of_choices(rows, bounds, limit, labels)
        passes += 1
        lowest, highest = _levels_left(bounds, staying, rising, ceiling)
        if least > ceiling or (lowest > highest).any():
            # nothing is left, or neither choice of an attribute
            return False, rows, waiting, least, staying, rising, passes
        if (lowest > bounds.low).any() or (highest < bounds.high).any():
            rows = raise_rows(rows, bounds, lowest, minimum, labels)
            if (highest < bounds.high).any():
                bounds.probes[:, 0] = -1
                rows = split_classes(rows, bounds, highest, minimum, limit, labels)
        elif waiting.places.shape[0] > 0 and (bounds.high < waiting.high).any():
            # only lower highest levels make classes smaller: without them nothing that waits begins to fail
            rows, waiting = catch_up(rows, waiting, tuples, bottom, bounds, minimum, large, limit, labels)
        else:
            return True, rows, waiting, least, staying, rising, passes


@kernel
def halved(
    rows: PackedRows, bounds: Bounds, part: int, at: int, minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Make a half of a box, as of `open_box`; what is known of its parts is kept where it is still true."""
    if part == LOWER:
        wanted = bounds.high.copy()
        wanted[at] = bounds.low[at]
        bounds.probes[:, 0] = -1
        return split_classes(rows, bounds, wanted, minimum, limit, labels)
    if part == UPPER:
        wanted = bounds.low.copy()
        wanted[at] += 1
        bounds.probes[at, 0] = -1
        return raise_rows(rows, bounds, wanted, minimum, labels)
    return rows


@kernel
def _levels_left(
    bounds: Bounds, staying: NDArray[np.int64], rising: NDArray[np.int64], ceiling: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest levels whose bounds are not above the ceiling."""
    low, high = bounds.low, bounds.high
    lowest = low.copy()
    highest = high.copy()
    for a in range(low.shape[0]):
        if low[a] < high[a]:
            if staying[a] > ceiling:
                lowest[a] += 1
            while highest[a] > low[a] and rising[a, highest[a]] > ceiling:
                highest[a] -= 1
    return lowest, highest
