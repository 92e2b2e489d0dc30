"""A box is left with what may be wanted: halved as its parent says, tightened, bounded, and brought up to what waits.

Of most boxes one half is ruled out, so halves are opened one after the other until one is left that is not
(`open_halves`): what is between two calls of a kernel takes as long as a small box.

In: the rows of a box or of its parent, and what is known of the box. Out: the rows that are left, with the bounds of
its two choices for each attribute. What is cheap comes first: levels are left out one attribute at a time, then by all
choices of attributes, and only what none of these rules out reads the tuples that wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.choices import bound_of_choices
from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, Tuples, Waiting
from engine.kernels.packed_boxes.splitting import split_classes
from engine.kernels.packed_boxes.tightening import tighten_box, tightest_halves
from engine.kernels.packed_boxes.waiting import catch_up

WHOLE, LOWER, UPPER, HALVES, NOTHING = 0, 1, 2, 3, 4
"""Which piece of the box that the rows are of."""


class Piece(NamedTuple):
    """A piece of a box that is to be opened.

    Attributes
    ----------
    which : int
        `WHOLE`, `LOWER`, `UPPER`, or `HALVES`: both halves, that of less cost first.
    at : int
        The attribute at which the box is halved; -1 where it is one transformation.
    below, above : int
        What the lower and the upper half cost at least, or twice what the only one does.
    """

    which: int
    at: int
    below: int
    above: int


@kernel
def open_box(
    rows: PackedRows,
    waiting: Waiting,
    tuples: Tuples,
    bottom: NDArray[np.int64],
    bounds: Bounds,
    which: int,
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
    which, at : int
        `WHOLE`, or the half to be opened and the attribute at which the box is halved.
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
    rows = halved(rows, bounds, which, at, minimum, limit, labels)
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
def open_piece(
    rows: PackedRows,
    waiting: Waiting,
    tuples: Tuples,
    bottom: NDArray[np.int64],
    bounds: Bounds,
    piece: Piece,
    most: int,
    minimum: int,
    large: int,
    limit: int,
    ceiling: int,
    labels: Labels,
) -> tuple[PackedRows, Waiting, Bounds, Piece, PackedRows, Waiting, Bounds, Piece, np.int64, np.int64]:
    """Open a piece of a box; of halves one after the other, until one is left, and then those of the last one.

    It ends when something is left of the half that costs less, or when nothing is to be opened, or after `most` boxes.

    Parameters
    ----------
    rows, waiting, bounds : PackedRows, Waiting, Bounds
        Those of the box. The bounds are changed.
    piece : Piece
    most : int
        Boxes to open, about.
    tuples, bottom, minimum, large, limit, ceiling, labels
        See `open_box`.

    Returns
    -------
    PackedRows, Waiting, Bounds, Piece
        What is left, to be halved next; `NOTHING` if it is ruled out.
    PackedRows, Waiting, Bounds, Piece
        Half of a box that is still to be opened too; `NOTHING` if there is none.
    int64, int64
        Passes over the rows, and boxes that were opened.
    """
    which, at, below, above = piece
    passes = np.int64(0)
    opened = np.int64(0)
    while True:
        rest = Piece(NOTHING, -1, below, above)
        if which == HALVES:
            first, second = (LOWER, UPPER) if below <= above else (UPPER, LOWER)
            cost, dearer = min(below, above), max(below, above)
            half = Bounds(
                bounds.low.copy(), bounds.high.copy(), bounds.sums.copy(), bounds.rises.copy(), bounds.probes.copy()
            )
            alive, its_rows, its_waiting, least, staying, rising, read = open_box(
                rows, waiting, tuples, bottom, half, first, at, minimum, large, limit, ceiling, labels
            )
            passes += read
            opened += 1
            if alive:
                left = _halves_of(half, max(cost, int(least)), staying, rising, limit, ceiling)
                rest = Piece(second, at, dearer, dearer)
                return its_rows, its_waiting, half, left, rows, waiting, bounds, rest, passes, opened
            which, below = second, dearer
        alive, rows, waiting, least, staying, rising, read = open_box(
            rows, waiting, tuples, bottom, bounds, which, at, minimum, large, limit, ceiling, labels
        )
        passes += read
        opened += 1
        if not alive:
            return rows, waiting, bounds, rest, rows, waiting, bounds, rest, passes, opened
        left = _halves_of(bounds, max(below, int(least)), staying, rising, limit, ceiling)
        if left.at < 0 or opened >= most:
            return rows, waiting, bounds, left, rows, waiting, bounds, rest, passes, opened
        which, at, below, above = left


@kernel
def _halves_of(
    bounds: Bounds, least: int, staying: NDArray[np.int64], rising: NDArray[np.int64], limit: int, ceiling: int
) -> Piece:
    """Choose where to halve what `open_box` left, of which nothing costs less than `least`."""
    at = int(tightest_halves(bounds, limit, ceiling))
    if at < 0:
        return Piece(WHOLE, at, least, least)
    level = bounds.low[at] + 1
    below = int(max(bounds.probes[at, 2], staying[at]))
    above = int(max(bounds.sums[0] + bounds.rises[at, level], rising[at, level]))
    return Piece(HALVES, at, max(least, below), max(least, above))


@kernel
def halved(
    rows: PackedRows, bounds: Bounds, which: int, at: int, minimum: int, limit: int, labels: Labels
) -> PackedRows:
    """Make a half of a box, as of `open_box`; what is known of its parts is kept where it is still true."""
    if which == LOWER:
        wanted = bounds.high.copy()
        wanted[at] = bounds.low[at]
        bounds.probes[:, 0] = -1
        return split_classes(rows, bounds, wanted, minimum, limit, labels)
    if which == UPPER:
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
