"""Level vectors in a list, scanned from its beginning.

The property of a stored vector is inherited by its generalizations: the vectors that are at least as large at every
attribute.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel


@inlined
def _specializes(low: NDArray[np.int32], high: NDArray[np.int32]) -> bool:
    for a in range(low.shape[0]):  # noqa: SIM110 (compiled)
        if low[a] > high[a]:
            return False
    return True


@kernel
def list_holds(nodes: NDArray[np.int32], stored: int, levels: NDArray[np.int32]) -> bool:
    """Whether one of the first `stored` rows of `nodes`, shape (capacity, m), specializes `levels`, shape (m,)."""
    for row in range(stored):  # noqa: SIM110 (compiled)
        if _specializes(nodes[row], levels):
            return True
    return False


@kernel
def list_insert(nodes: NDArray[np.int32], stored: int, levels: NDArray[np.int32]) -> int:
    """Insert a vector into an antichain, unless it is implied; remove those it implies.

    Parameters
    ----------
    nodes : int32, shape (capacity, m)
        The first `stored` rows are the antichain; changed in place. At least one more row is free.
    levels : int32, shape (m,)

    Returns
    -------
    int
        Rows stored now.
    """
    if list_holds(nodes, stored, levels):
        return stored
    kept = 0
    for row in range(stored):
        if not _specializes(levels, nodes[row]):
            if kept < row:
                nodes[kept] = nodes[row]
            kept += 1
    nodes[kept] = levels
    return kept + 1
