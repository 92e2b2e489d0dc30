"""What the labels of a level have from those below: their label at another level, their least cost, their entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


@kernel
def label_map(codes: NDArray[np.int32], others: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    """Return the label code at another level of each label code, 0 to `width` - 1, by its last leaf; 0 without leaves.

    Parameters
    ----------
    codes, others : int32, shape (leaves,)
        Label code of each leaf, at the level and at the other one.
    """
    found = np.zeros(width, np.int32)
    for leaf in range(codes.shape[0]):
        found[codes[leaf]] = others[leaf]
    return found


@kernel
def least_by_label(codes: NDArray[np.int32], costs: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the least cost of the leaves of each label code, 0 to `width` - 1; 0 without leaves.

    Parameters
    ----------
    codes : int32, shape (leaves,)
    costs : float64, shape (leaves,)
        At least 0, and finite.
    """
    found = np.full(width, np.inf)
    for leaf in range(codes.shape[0]):
        found[codes[leaf]] = min(found[codes[leaf]], costs[leaf])
    for label in range(found.shape[0]):
        if found[label] == np.inf:
            found[label] = 0.0
    return found


@kernel
def bits_of_labels(up: NDArray[np.int32], records: NDArray[np.int64]) -> float:
    """Return the entropy of labels times their records, in bits, shape (): 0 without records.

    Parameters
    ----------
    up : int32, shape (lower labels,)
        Label of each label of a lower level.
    records : int64, shape (lower labels,)
    """
    found = np.zeros(up.max() + 1, np.int64)
    total = np.int64(0)
    for label in range(up.shape[0]):
        found[up[label]] += records[label]
        total += records[label]
    bits = 0.0
    for label in range(found.shape[0]):
        if found[label] > 0:
            bits -= found[label] * np.log2(found[label] / total)
    return bits
