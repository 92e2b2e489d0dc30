"""Sparse histograms of a sensitive attribute, merged from tuples to classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel

_CELLS = 8
"""Cells per entry up to which a table is faster than sorting."""


@kernel
def by_class(gid: NDArray[np.int32], classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort rows by class: class c has the rows `order[starts[c]:starts[c + 1]]`."""
    rows = gid.shape[0]
    starts = np.zeros(classes + 1, np.int64)
    for r in range(rows):
        starts[gid[r] + 1] += 1
    for c in range(classes):
        starts[c + 1] += starts[c]
    order = np.empty(rows, np.int64)
    place = starts[:-1].copy()
    for r in range(rows):
        order[place[gid[r]]] = r
        place[gid[r]] += 1
    return order, starts


@kernel
def distinct_values(
    gid: NDArray[np.int32],
    classes: int,
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    domain: int,
) -> NDArray[np.int64]:
    """Count the distinct sensitive values of each class.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row.
    offsets : int64, shape (rows + 1,)
        Row r holds `values[offsets[r]:offsets[r + 1]]`.
    values : int32
        Codes of sensitive values, 0 to `domain` - 1.

    Returns
    -------
    int64, shape (classes,)
    """
    found = np.zeros(classes, np.int64)
    if classes * domain <= _CELLS * values.shape[0]:
        absent = np.ones(classes * domain, np.bool_)
        classes_of, step = gid.view(np.uint32), np.uint64(domain)
        codes, ends = values.view(np.uint32), offsets.view(np.uint64)
        for r in range(gid.shape[0]):
            begin = classes_of[r] * step
            for i in range(ends[r], ends[r + 1]):
                found[classes_of[r]] += absent[begin + codes[i]]
                absent[begin + codes[i]] = False
        return found
    order, starts = by_class(gid, classes)
    last_seen = np.full(domain, np.int64(-1))
    for c in range(classes):
        for position in range(starts[c], starts[c + 1]):
            r = order[position]
            for i in range(offsets[r], offsets[r + 1]):
                if last_seen[values[i]] != c:
                    last_seen[values[i]] = c
                    found[c] += 1
    return found


@kernel
def _by_value(
    gid: NDArray[np.int32],
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    domain: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Sort the entries of rows by value: where each value ends, then class and count of each entry."""
    place = np.zeros(domain + 1, np.int64)
    for i in range(values.shape[0]):
        place[values[i] + 1] += 1
    for value in range(domain):
        place[value + 1] += place[value]
    by_value = np.empty(values.shape[0], np.int32)
    records = np.empty(values.shape[0], np.int64)
    for r in range(gid.shape[0]):
        for i in range(offsets[r], offsets[r + 1]):
            entry = place[values[i]]
            by_value[entry] = gid[r]
            records[entry] = counts[i]
            place[values[i]] = entry + 1
    return place[:-1].copy(), by_value, records


@kernel
def _merge_in_table(
    gid: NDArray[np.int32],
    classes: int,
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    domain: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Merge histograms by one cell for each class and value; see `merge_histograms`."""
    table = np.zeros(classes * domain, np.int64)
    classes_of, step = gid.view(np.uint32), np.uint64(domain)
    codes, ends = values.view(np.uint32), offsets.view(np.uint64)
    for r in range(gid.shape[0]):
        begin = classes_of[r] * step
        for i in range(ends[r], ends[r + 1]):
            table[begin + codes[i]] += counts[i]
    merged_values = np.empty(min(values.shape[0], table.shape[0]) + 1, np.int32)
    merged_counts = np.empty(merged_values.shape[0], np.int64)
    merged_offsets = np.zeros(classes + 1, np.int64)
    end = np.int64(0)
    for c in range(classes):
        for value in range(domain):
            # no branch: which values a class has cannot be foreseen; the place after the last is written in vain
            records = table[c * domain + value]
            merged_values[end] = value
            merged_counts[end] = records
            end += records > 0
        merged_offsets[c + 1] = end
    return merged_offsets, merged_values[:end].copy(), merged_counts[:end].copy()


@kernel
def merge_histograms(
    gid: NDArray[np.int32],
    classes: int,
    offsets: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    domain: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Merge the histograms of rows into those of classes.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row.
    offsets, values, counts
        Row r holds the values `values[offsets[r]:offsets[r + 1]]`, with as many `counts` (int64).

    Returns
    -------
    offsets, values, counts
        The same for the classes; values ascend within a class.

    Notes
    -----
    Where there are not many more pairs of a class and a value than entries, they are counted in a table. Else a radix
    sort by class and value: the entries are sorted by value, then moved to their classes in that order, so equal values
    become neighbours.
    """
    if classes * domain <= _CELLS * values.shape[0]:
        return _merge_in_table(gid, classes, offsets, values, counts, domain)
    ends, by_value, records = _by_value(gid, offsets, values, counts, domain)
    # before equal values are merged, class c has the entries from starts[c] to starts[c + 1]
    starts = np.zeros(classes + 1, np.int64)
    for r in range(gid.shape[0]):
        starts[gid[r] + 1] += offsets[r + 1] - offsets[r]
    for c in range(classes):
        starts[c + 1] += starts[c]
    merged_values = np.empty(values.shape[0], np.int32)
    merged_counts = np.empty(values.shape[0], np.int64)
    place = starts[:-1].copy()
    last_seen = np.full(classes, np.int32(-1))
    for value in range(domain):
        for entry in range(ends[value - 1] if value > 0 else 0, ends[value]):
            c = by_value[entry]
            if last_seen[c] != value:
                last_seen[c] = value
                merged_values[place[c]] = value
                merged_counts[place[c]] = 0
                place[c] += 1
            merged_counts[place[c] - 1] += records[entry]
    merged_offsets = np.zeros(classes + 1, np.int64)
    end = np.int64(0)
    for c in range(classes):
        for i in range(starts[c], place[c]):
            merged_values[end] = merged_values[i]
            merged_counts[end] = merged_counts[i]
            end += 1
        merged_offsets[c + 1] = end
    return merged_offsets, merged_values[:end].copy(), merged_counts[:end].copy()
