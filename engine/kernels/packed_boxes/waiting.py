"""Tuples of large classes wait: they have few of the records that fail, so most boxes are ruled out without them.

In: the tuples that wait, as places in the table, and what their box is now. Out: the rows of the parts that are no
longer large, and the places of the others. Only the former are made into rows: the columns of the table stay as they
are, so a class that is split again and again costs its places alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.packed_boxes.probing import probe
from engine.kernels.packed_boxes.raising import merged
from engine.kernels.packed_boxes.rows import Bounds, Labels, PackedRows, Tuples, Waiting
from engine.kernels.packed_boxes.splitting import ALL, parts_of_classes, split_places, suppress

_MOST = 1 << 10
_LEAST = 1 << 4
"""Entries of codes beside each other that are looked up together, by the number of rows: each call makes them anew."""


@kernel
def catch_up(
    rows: PackedRows,
    waiting: Waiting,
    tuples: Tuples,
    bottom: NDArray[np.int64],
    bounds: Bounds,
    minimum: int,
    large: int,
    limit: int,
    labels: Labels,
) -> tuple[PackedRows, Waiting]:
    """Bring what waited to the levels of its box, and let only large classes wait on.

    The probes of the box are made whole by the rows that come; where these are more than there were, they are void.

    Parameters
    ----------
    rows : PackedRows
        Those of the box that did not wait.
    waiting : Waiting
        The other tuples.
    tuples : Tuples
        All of the table.
    bottom : int64, shape (m,)
        The levels of their codes.
    large : int
        Minimum number of records of a class that waits.
    limit : int
        Records that may be suppressed. When there are more, it ends, and some rows are missing.

    Returns
    -------
    PackedRows, Waiting
        The rows that do not wait, and the tuples that do.
    """
    before = bounds.sums.copy()
    nothing = PackedRows(
        rows.keys[:0], rows.tails[:0], rows.counts[:0], rows.weights[:0], rows.marks[:0], rows.starts[:1]
    )
    new = np.empty(0, np.uint32)
    new_starts = np.zeros(1, np.int32)
    high = waiting.high.copy()
    last = False
    while not last and bounds.sums[1] <= limit:
        chosen, parts, cells = parts_of_classes(bottom, high, bounds.high, labels)
        for a in chosen:
            high[a] = bounds.high[a]
        last = not (bounds.high < high).any()
        room = limit - bounds.sums[1]
        size = large if last else 0
        new, new_starts, places, starts, failing = split_places(
            waiting.places, waiting.starts, tuples, chosen, parts, cells, minimum, size, room, labels
        )
        waiting = Waiting(places, starts, high.copy())
        if failing.shape[0]:
            gone = _brought(nothing, failing, np.zeros(1, np.int32), tuples, bottom, bounds, labels)
            suppress(gone.keys, gone.tails, gone.counts, gone.weights, bounds, labels)
    if bounds.sums[1] > limit:
        return rows, waiting
    first = rows.starts.shape[0] - 1
    found = merged(_brought(rows, new, new_starts, tuples, bottom, bounds, labels), first, minimum)
    if found.counts.shape[0] > 2 * rows.counts.shape[0]:
        # probed anew, a probe may end early, and rule the box out before others are made
        bounds.probes[:, 0] = -1
        return found, waiting
    came = PackedRows(found.keys, found.tails, found.counts, found.weights, found.marks, found.starts[first:])
    for a in range(bottom.shape[0]):
        if bounds.low[a] < bounds.high[a] and bounds.probes[a, 0] == bounds.low[a]:
            words = found.keys if labels.places[a, 0] == 0 else found.tails
            shift, width = np.uint64(labels.places[a, 1]), labels.widths[a, bounds.low[a]]
            records, cost = probe(came, words, shift, labels.masks[a], width, minimum, a, ALL, ALL)
            bounds.probes[a, 1] += bounds.sums[1] - before[1] + records
            bounds.probes[a, 2] += bounds.sums[0] - before[0] + cost
    return found, waiting


@kernel
def _brought(
    before: PackedRows,
    places: NDArray[np.uint32],
    starts: NDArray[np.int32],
    tuples: Tuples,
    bottom: NDArray[np.int64],
    bounds: Bounds,
    labels: Labels,
) -> PackedRows:
    """Make tuples into rows at the lowest levels of a box, behind those before, without merging any."""
    low, high = bounds.low, bounds.high
    first = before.counts.shape[0]
    rows = _with_room(before, places.shape[0], starts, tuples)
    wide = tuples.tails.shape[0] > 0
    new_keys, new_tails, counts = rows.keys[first:], rows.tails[first:], rows.counts[first:]
    prices = rows.weights[first:]
    # most attributes cost as much with each of their labels, and have their codes already, or none
    alike, kept = np.int64(0), np.full(2, ~np.uint64(0))
    apart = np.zeros(low.shape[0], np.bool_)
    for b in range(low.shape[0]):
        begin = labels.more_at[b, low[b]]
        costs = labels.more[begin : begin + max(labels.widths[b, low[b]], 1)]
        apart[b] = (low[b] != bottom[b] and low[b] < high[b]) or (costs != costs[0]).any()
        if not apart[b]:
            alike += costs[0]
            if low[b] == high[b]:
                kept[labels.places[b, 0]] &= ~(labels.masks[b] << np.uint64(labels.places[b, 1]))
    for r in range(places.shape[0]):
        new_keys[r] = tuples.keys[places[r]] & kept[0]
        counts[r] = tuples.counts[places[r]]
        prices[r] = alike
    if wide:
        for r in range(places.shape[0]):
            new_tails[r] = tuples.tails[places[r]] & kept[1]
    most = min(max(places.shape[0] // 8, _LEAST), _MOST)
    a = np.int64(0)
    while a < low.shape[0]:
        if not apart[a]:
            a += np.int64(1)
            continue
        # attributes whose codes lie beside each other in few bits are looked up at once
        stop = a + 1
        entries = np.int64(labels.masks[a]) + 1
        while stop < low.shape[0] and apart[stop] and labels.places[stop, 0] == labels.places[a, 0]:
            more_entries = entries * (np.int64(labels.masks[stop]) + 1)
            if more_entries > most:
                break
            entries = more_entries
            stop += 1
        step = np.zeros(entries, np.uint64)
        price = np.zeros(entries, np.int64)
        filled = np.int64(1)
        for b in range(a, stop):
            place = np.uint64(labels.places[b, 1])
            # the first label comes last, as the others begin with what its entries have so far
            for label in range(labels.widths[b, bottom[b]] - 1, -1, -1):
                higher = labels.ups[labels.ups_at[b, bottom[b], low[b]] + label]
                new = np.uint64(higher) if low[b] < high[b] else np.uint64(0)
                moved = (new - np.uint64(label)) << place
                cost = labels.more[labels.more_at[b, low[b]] + higher]
                for entry in range(filled):
                    step[label * filled + entry] = step[entry] + moved
                    price[label * filled + entry] = price[entry] + cost
            filled *= np.int64(labels.masks[b]) + 1
        words = new_keys if labels.places[a, 0] == 0 else new_tails
        shift = np.uint64(labels.places[a, 1])
        inside = np.uint64(entries - 1)
        for r in range(places.shape[0]):
            code = (words[r] >> shift) & inside
            prices[r] += price[code]
            words[r] += step[code]
        a = stop
    for r in range(places.shape[0]):
        prices[r] *= counts[r]
    return rows


@kernel
def _with_room(rows: PackedRows, number: int, starts: NDArray[np.int32], tuples: Tuples) -> PackedRows:
    """Copy rows, with room for so many others of classes with these starts behind them; those have no marks."""
    first = rows.counts.shape[0]
    size = first + number
    keys = np.empty(size, np.uint64)
    tails = np.empty(size if tuples.tails.shape[0] > 0 else 0, np.uint64)
    counts = np.empty(size, np.int32)
    weights = np.empty(size, np.int64)
    marks = np.zeros(size, np.uint64)
    keys[:first] = rows.keys
    tails[: rows.tails.shape[0]] = rows.tails
    counts[:first] = rows.counts
    weights[:first] = rows.weights
    marks[:first] = rows.marks
    classes = rows.starts.shape[0] - 1
    all_starts = np.empty(classes + starts.shape[0], np.int32)
    all_starts[:classes] = rows.starts[:-1]
    all_starts[classes:] = starts + first
    return PackedRows(keys, tails, counts, weights, marks, all_starts)
