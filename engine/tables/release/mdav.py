"""Maximum distance to average vector (MDAV): records in groups of alike ones, of k to 2k - 1 each.

In: numbers of records. Out: the group of each. (Domingo-Ferrer, Torra, Ordinal, continuous and heterogeneous
k-anonymity through microaggregation, Data Mining and Knowledge Discovery 11(2), 2005, algorithm MDAV-generic; after
Domingo-Ferrer, Mateo-Sanz, Practical data-oriented microaggregation for statistical disclosure control, IEEE TKDE
14(1), 2002.) The time grows with the square of the records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mdav(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Group records that are near each other.

    Parameters
    ----------
    values : float64, shape (n, d)
        Without missing ones; columns of one scale.
    k : int
        Records of a group at least, 1 or more.

    Returns
    -------
    int64, shape (n,)
        Number of the group, from 0. Of fewer than 2k records there is one group; else n // k groups, of which all but
        the last one have k records.
    """
    group = np.zeros(values.shape[0], np.int64)
    left = np.arange(values.shape[0])
    # by column, of the records that are left: the distances of all of them are sums of a few long rows
    columns = np.ascontiguousarray(values.T)
    number = 0
    while left.size >= 2 * k:
        distances = _distances(columns, columns[:, int(_distances(columns, columns.mean(axis=1)).argmax())])
        ends = [distances]
        if left.size >= 3 * k:
            other = int(distances.argmax())
            ends.append(_distances(columns, columns[:, other]))
        stays = np.ones(left.size, np.bool_)
        for end in ends:
            end[~stays] = np.inf
            near = np.argpartition(end, k - 1)[:k]
            group[left[near]] = number
            stays[near] = False
            number += 1
        left, columns = left[stays], np.ascontiguousarray(columns[:, stays])
    group[left] = number
    return group


def standardized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns with mean 0 and standard deviation 1; a missing value (NaN) is at the mean, float64, (n, d)."""
    there = ~np.isnan(values)
    # squares of very large numbers would be none
    values = values / np.maximum(np.where(there, np.abs(values), 0.0).max(axis=0, initial=0.0), 1e-300)
    number = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, values, 0.0)
    mean = filled.sum(axis=0) / number
    apart = np.where(there, values - mean, 0.0)
    deviation = np.sqrt(np.square(apart).sum(axis=0) / number)
    # a column that does not vary, but for rounding, has no distances
    varies = deviation > np.abs(mean) * 1e-12
    found: NDArray[np.float64] = np.divide(apart, deviation, out=np.zeros_like(apart), where=varies)
    return found


def _distances(columns: NDArray[np.float64], to: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of each record to a point, float64, shape (n,)."""
    found = np.zeros(columns.shape[1])
    for column, value in zip(columns, to.tolist(), strict=True):
        apart = column - value
        found += apart * apart
    return found
