"""Distinct persons of unions: the persons of a class are those of its rows, each counted once.

Persons are numbers from 0. Row r has the persons `members[offsets[r]:offsets[r + 1]]`, each once. A class has at least
as many as the row with most of them and at most as many as all rows together; the persons themselves decide only where
these bounds do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.histograms import by_class, distinct_values
from engine.kernels.jit import kernel


@kernel
def few_members(
    gid: NDArray[np.int32],
    classes: int,
    offsets: NDArray[np.int64],
    members: NDArray[np.int32],
    domain: int,
    least: int,
) -> NDArray[np.bool_]:
    """Tell which classes have fewer than `least` distinct members.

    Parameters
    ----------
    gid : int32, shape (rows,)
        Class of each row.
    members : int32
        From 0 to `domain` - 1.

    Returns
    -------
    bool, shape (classes,)
    """
    rows = gid.shape[0]
    most = np.zeros(classes, np.int64)
    largest = np.zeros(classes, np.int64)
    for r in range(rows):
        size = offsets[r + 1] - offsets[r]
        most[gid[r]] += size
        largest[gid[r]] = max(largest[gid[r]], size)
    few = largest < least
    starts = np.zeros(classes + 1, np.int64)
    for r in range(rows):
        if few[gid[r]] and most[gid[r]] >= least:
            starts[gid[r] + 1] += 1
    for c in range(classes):
        starts[c + 1] += starts[c]
    if starts[classes] == 0:
        return few
    order = np.empty(starts[classes], np.int64)
    place = starts[:-1].copy()
    for r in range(rows):
        if few[gid[r]] and most[gid[r]] >= least:
            order[place[gid[r]]] = r
            place[gid[r]] += 1
    last_seen = np.full(domain, np.int32(-1))
    for c in range(classes):
        found = 0
        position = starts[c]
        while position < starts[c + 1] and found < least:
            r = order[position]
            position += 1
            i = offsets[r]
            while i < offsets[r + 1] and found < least:
                if last_seen[members[i]] != c:
                    last_seen[members[i]] = c
                    found += 1
                i += 1
        if found >= least:
            few[c] = False
    return few


@kernel
def merge_members(
    gid: NDArray[np.int32], classes: int, offsets: NDArray[np.int64], members: NDArray[np.int32], domain: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the members of classes, in the form of those of rows; in no order within a class."""
    order, starts = by_class(gid, classes)
    last_seen = np.full(domain, np.int32(-1))
    merged_offsets = np.zeros(classes + 1, np.int64)
    merged = np.empty(members.shape[0], np.int32)
    end = np.int64(0)
    for c in range(classes):
        for position in range(starts[c], starts[c + 1]):
            r = order[position]
            for i in range(offsets[r], offsets[r + 1]):
                if last_seen[members[i]] != c:
                    last_seen[members[i]] = c
                    merged[end] = members[i]
                    end += 1
        merged_offsets[c + 1] = end
    return merged_offsets, merged[:end].copy()


@kernel
def count_by_value(
    offsets: NDArray[np.int64], members: NDArray[np.int32], value_of: NDArray[np.int32], values: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Count the members of each class by their value.

    Parameters
    ----------
    offsets, members
        Class c has the members `members[offsets[c]:offsets[c + 1]]`, each once.
    value_of : int32, shape (domain,)
        Value of each member, 0 to `values` - 1.

    Returns
    -------
    offsets, values, counts
        A sparse histogram per class; values ascend within it.
    """
    classes = offsets.shape[0] - 1
    counted = np.zeros(values, np.int64)
    found_offsets = np.zeros(classes + 1, np.int64)
    found_values = np.empty(members.shape[0], np.int32)
    found_counts = np.empty(members.shape[0], np.int64)
    end = np.int64(0)
    for c in range(classes):
        begin = end
        for i in range(offsets[c], offsets[c + 1]):
            value = value_of[members[i]]
            if counted[value] == 0:
                found_values[end] = value
                end += 1
            counted[value] += 1
        found_values[begin:end].sort()
        for i in range(begin, end):
            found_counts[i] = counted[found_values[i]]
            counted[found_values[i]] = 0
        found_offsets[c + 1] = end
    return found_offsets, found_values[:end].copy(), found_counts[:end].copy()


def compile_persons() -> None:
    """Run each kernel once, on two rows of one person."""
    gid, offsets, members = np.zeros(2, np.int32), np.array([0, 1, 2]), np.zeros(2, np.int32)
    few_members(gid, 1, offsets, members, 1, 2)
    distinct_values(gid, 1, offsets, members, 1)
    count_by_value(*merge_members(gid, 1, offsets, members, 1), np.zeros(1, np.int32), 1)
