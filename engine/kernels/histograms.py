"""Sparse histograms of a sensitive attribute, merged from tuples to classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


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
    last_seen = np.full(domain, np.int64(-1))
    found = np.zeros(classes, np.int64)
    for c in range(classes):
        for position in range(starts[c], starts[c + 1]):
            r = order[position]
            for i in range(offsets[r], offsets[r + 1]):
                if last_seen[values[i]] != c:
                    last_seen[values[i]] = c
                    found[c] += 1
    return found
