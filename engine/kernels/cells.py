"""Cells of a local recoding, and what records cost in them.

A *cell* is the level of each attribute beside a tuple that has its labels. The *meet* of a cell and another is the
lowest cell that has both: of each attribute the lowest level, not below either, at which their labels agree. Costs of
records are by attribute, level and leaf; all attributes stand behind each other in one array (`Shape`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel


class Shape(NamedTuple):
    """Labels and costs of m attributes, behind each other: of attribute a from `offsets[a]`, level by level.

    Attributes
    ----------
    labels : int32, shape (sum of levels x leaves,)
        Code of each leaf's label at each level.
    costs : float64, of the same shape
        Of one record with that label; not falling with the level.
    offsets, leaves : int64, shape (m,)
        First entry and number of leaves of each attribute.
    low, high : int64, shape (m,)
        Lowest and highest level allowed.
    """

    labels: NDArray[np.int32]
    costs: NDArray[np.float64]
    offsets: NDArray[np.int64]
    leaves: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@inlined
def shared(shape: Shape, a: int, u: int, v: int, level: int) -> int:
    """Return the lowest level, from `level` on, at which two leaves have one label; above the highest if none."""
    if u == v:
        return level
    base, leaves, high = shape.offsets[a], shape.leaves[a], shape.high[a]
    while level <= high:
        at = base + level * leaves
        if shape.labels[at + u] == shape.labels[at + v]:
            return level
        level += 1
    return level


@inlined
def met_cost(
    shape: Shape,
    one: NDArray[np.int32],
    low: NDArray[np.int64],
    other: NDArray[np.int32],
    least: NDArray[np.int64],
    most: float,
) -> float:
    """Return the cost of a record in the meet of two cells, infinite where it is above `most` or there is none."""
    cost = 0.0
    for a in range(one.shape[0]):
        level = shared(shape, a, one[a], other[a], max(low[a], least[a]))
        if level > shape.high[a]:
            return np.inf
        cost += shape.costs[shape.offsets[a] + level * shape.leaves[a] + one[a]]
        if cost > most:
            return np.inf
    return cost


@kernel
def cell_cost(shape: Shape, leaves: NDArray[np.int32], levels: NDArray[np.int64]) -> float:
    """Return the cost of a record in a cell."""
    cost = 0.0
    for a in range(leaves.shape[0]):
        cost += shape.costs[shape.offsets[a] + levels[a] * shape.leaves[a] + leaves[a]]
    return cost
