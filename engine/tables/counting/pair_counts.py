"""How often each value occurs in each class: of pairs of a class and a value the distinct ones, with their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_DENSE = 4
"""Possible pairs per pair up to which all of them are counted; beyond, sorting takes less time."""


def pair_counts(
    owner: NDArray[Any], codes: NDArray[Any], size: int, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Count the pairs of a class and a value, as the sparse rows of a `Histogram`.

    Parameters
    ----------
    owner : int, shape (n,)
        Class of each pair, from 0 to `size` - 1.
    codes : int, shape (n,)
        Value of each pair, from 0 to `width` - 1.

    Returns
    -------
    offsets : int64, shape (size + 1,)
    values : int32, shape (pairs,)
        Class c has the values `values[offsets[c]:offsets[c + 1]]`, in their order.
    counts : int64, shape (pairs,)
    """
    width = max(1, width)
    keys = owner.astype(np.int64) * width + codes
    if size * width <= _DENSE * keys.size:
        every = np.bincount(keys, minlength=size * width)
        found = np.flatnonzero(every)
        counts = every[found]
    else:
        found, counts = np.unique(keys, return_counts=True)
    classes, values = np.divmod(found, width)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=size))])
    return offsets, values.astype(np.int32), counts.astype(np.int64)
