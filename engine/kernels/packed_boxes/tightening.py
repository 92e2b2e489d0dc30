"""A box is shrunk as far as it goes, and then halved at one attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.probing import probe
from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows
from engine.kernels.packed_boxes.splitting import split_classes


@kernel
def tighten_box(
    rows: PackedRows, bounds: Bounds, minimum: int, limit: int, ceiling: int, labels: Labels
) -> tuple[bool, PackedRows, np.int64]:
    """Shrink a box as far as it goes.

    Parameters
    ----------
    minimum : int
        Records a class must have.
    limit : int
        Records that may be suppressed.
    ceiling : int
        Transformations with a higher cost are not wanted.

    Returns
    -------
    bool
        Whether the box may hold something that is wanted.
    PackedRows
    int64
        Passes over the rows.
    """
    low, high, sums, rises, probes = bounds
    passes = np.int64(0)
    while True:
        if sums[1] > limit or sums[0] > ceiling:
            return False, rows, passes
        wanted = high.copy()
        for a in range(low.shape[0]):
            while wanted[a] > low[a] and sums[0] + rises[a, wanted[a]] > ceiling:
                wanted[a] -= 1
        if (wanted < high).any():
            rows = split_classes(rows, bounds, wanted, minimum, limit, labels)
            passes += 1
            probes[:, 0] = -1
            continue
        wanted = low.copy()
        least = sums[0]
        left = low < high
        while left.any():
            a = int(_most_promising(bounds, left))
            left[a] = False
            if probes[a, 0] != low[a]:
                words = rows.keys if labels.places[a, 0] == 0 else rows.tails
                records, cost = probe(
                    rows,
                    words,
                    np.uint64(labels.places[a, 1]),
                    labels.masks[a],
                    labels.widths[a, low[a]],
                    minimum,
                    a,
                    limit - sums[1],
                    ceiling - sums[0],
                )
                passes += 1
                probes[a, 0] = low[a]
                probes[a, 1] = sums[1] + records
                probes[a, 2] = sums[0] + cost
            if probes[a, 1] > limit or probes[a, 2] > ceiling:
                wanted[a] += 1
                least += rises[a, wanted[a]]
                if least > ceiling:
                    return False, rows, passes
        if (wanted == low).all():
            return True, rows, passes
        rows = raise_rows(rows, bounds, wanted, minimum, labels)


@kernel
def _most_promising(bounds: Bounds, left: NDArray[np.bool_]) -> np.int64:
    """Choose of some attributes the one to be probed next.

    Those that are known come first, then those that suppressed most when they were last probed, and whose rise costs
    most: the rises of few attributes may rule out a box before the others are probed.
    """
    low, _, _, rises, probes = bounds
    choice = np.int64(-1)
    best = 0.0
    for a in range(low.shape[0]):
        if left[a]:
            if probes[a, 0] == low[a]:
                return np.int64(a)
            promise = np.float64(max(probes[a, 1], 1)) * max(rises[a, low[a] + 1], 1)
            if choice < 0 or promise > best:
                best = promise
                choice = np.int64(a)
    return choice


@kernel
def tightest_halves(bounds: Bounds, limit: int, ceiling: int) -> np.int64:
    """Choose the attribute at which to split a tightened box: both halves gain most in cost or suppressed records."""
    low, high, sums, rises, probes = bounds
    room = max(ceiling - sums[0], 1)
    best = 0.0
    choice = np.int64(-1)
    for a in range(low.shape[0]):
        if low[a] < high[a]:
            filled = (probes[a, 1] - sums[1]) / (limit + 1)
            below = max((probes[a, 2] - sums[0]) / room, filled) + 0.01
            gain = below * (rises[a, low[a] + 1] / room + 0.01)
            # costs of labels shared with values without a hierarchy entry may fall: a gain has no lower limit
            if choice < 0 or gain > best:
                best = gain
                choice = np.int64(a)
    return choice
