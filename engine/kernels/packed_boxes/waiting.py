"""Rows of large classes wait: they have few of the records that fail, so most boxes are ruled out without them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.probing import probe
from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows
from engine.kernels.packed_boxes.splitting import ALL, MOST_CELLS, split


@kernel
def _joined(left: PackedRows, right: PackedRows) -> PackedRows:
    starts = np.empty(left.starts.shape[0] + right.starts.shape[0] - 1, np.int32)
    starts[: left.starts.shape[0]] = left.starts
    starts[left.starts.shape[0] :] = right.starts[1:] + left.keys.shape[0]
    return PackedRows(
        np.concatenate((left.keys, right.keys)),
        np.concatenate((left.tails, right.tails)),
        np.concatenate((left.counts, right.counts)),
        np.concatenate((left.weights, right.weights)),
        np.concatenate((left.marks, right.marks)),
        starts,
    )


@kernel
def catch_up(
    rows: PackedRows,
    waiting: PackedRows,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    bounds: Bounds,
    minimum: int,
    large: int,
    limit: int,
    labels: Labels,
) -> tuple[PackedRows, PackedRows]:
    """Bring rows that waited to the levels of their box, and let only those of large classes wait on.

    Parameters
    ----------
    rows : PackedRows
        Those of the box that did not wait.
    waiting : PackedRows
        The others, as they were when the box had the levels `low` and `high`, which are changed.
    large : int
        Minimum number of records of a class that waits.
    limit : int
        Records that may be suppressed. When there are more, it ends, and some rows are missing.

    Returns
    -------
    PackedRows, PackedRows
        Those that do not wait, and the others.
    """
    before = bounds.sums.copy()
    if (low < bounds.low).any():
        then = Bounds(low, high, np.zeros(2, np.int64), np.zeros_like(bounds.rises), bounds.probes)
        waiting = raise_rows(waiting, then, bounds.low, minimum, labels)
    now = Bounds(bounds.low, high, bounds.sums, bounds.rises, bounds.probes)
    while True:
        whole = True
        cells = 1
        for a in range(high.shape[0]):
            if bounds.high[a] < high[a]:
                cells *= labels.widths[a, bounds.high[a]]
                whole &= cells <= MOST_CELLS
        if whole:
            break
        waiting, _ = split(waiting, now, bounds.high, minimum, ALL, limit, labels)
    new, waiting = split(waiting, now, bounds.high, minimum, large, limit, labels)
    if bounds.sums[1] > limit:
        return rows, waiting
    for a in range(low.shape[0]):
        if bounds.low[a] < bounds.high[a] and bounds.probes[a, 0] == bounds.low[a]:
            words = new.keys if labels.places[a, 0] == 0 else new.tails
            shift, width = np.uint64(labels.places[a, 1]), labels.widths[a, bounds.low[a]]
            records, cost = probe(new, words, shift, labels.masks[a], width, minimum, a, ALL, ALL)
            bounds.probes[a, 1] += bounds.sums[1] - before[1] + records
            bounds.probes[a, 2] += bounds.sums[0] - before[0] + cost
    return _joined(rows, new), waiting
