"""Which class each of some classes is best joined with, so that both come nearer to what every class must have.

The *lack* of a class is a number of records, 0 of a class that satisfies every model (`engine.privacy.lack`). Of all
unions, the one is best whose loss rises least per record of lack that it removes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape, cell_cost, met_cost, shared
from engine.kernels.jit import inlined, kernel


class Cells(NamedTuple):
    """N classes.

    Attributes
    ----------
    leaves : int32, shape (N, m)
        Of one tuple of each.
    levels : int64, shape (N, m)
    sizes : float64, shape (N,)
        Records of each.
    costs : float64, shape (N,)
        Of one record of each.
    """

    leaves: NDArray[np.int32]
    levels: NDArray[np.int64]
    sizes: NDArray[np.float64]
    costs: NDArray[np.float64]


class Needs(NamedTuple):
    """What classes must have: of G models F features in all, one after another.

    Attributes
    ----------
    least : float
        Records.
    ends : int64, shape (G,)
        End of the features of each model.
    weights, shares : float64, shape (F,)
        See `Lack`; the shares are those of the table.
    allowed, distinct : float64, shape (G,)
        See `Lack`.
    """

    least: float
    ends: NDArray[np.int64]
    weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    allowed: NDArray[np.float64]
    distinct: NDArray[np.float64]


@inlined
def _lack(needs: Needs, one: NDArray[np.float64], other: NDArray[np.float64], size: float) -> float:
    """Return the lack of the union of two classes, by their sums of features."""
    found = max(needs.least - size, 0.0)
    begin = 0
    for g in range(needs.ends.shape[0]):
        different = 0
        apart = 0.0
        for f in range(begin, needs.ends[g]):
            number = one[f] + other[f]
            different += number > 0.0
            apart += needs.weights[f] * abs(number - size * needs.shares[f])
        found += max(apart - needs.allowed[g] * size, 0.0) + max(needs.distinct[g] - different, 0.0)
        begin = needs.ends[g]
    return found


@kernel
def lacks(needs: Needs, sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lack of each class, shape (N,), by the sums of its features, shape (N, F)."""
    nothing = np.zeros(sums.shape[1])
    found = np.empty(sizes.shape[0])
    for one in range(sizes.shape[0]):
        found[one] = _lack(needs, sums[one], nothing, sizes[one])
    return found


@kernel
def partners(
    shape: Shape,
    cells: Cells,
    needs: Needs,
    sums: NDArray[np.float64],
    lacking: NDArray[np.float64],
    seekers: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the class with which each seeker is best joined, -1 for none, and the rise per record of lack removed.

    Parameters
    ----------
    sums : float64, shape (N, F)
        Of the features.
    lacking : float64, shape (N,)
        The lack of each class; above 0 of the seekers.
    seekers : int64, shape (S,)
    """
    chosen = np.full(seekers.shape[0], -1, np.int64)
    rises = np.full(seekers.shape[0], np.inf)
    for place in range(seekers.shape[0]):
        one = seekers[place]
        best = np.inf
        for other in range(cells.sizes.shape[0]):
            if other == one:
                continue
            removable = lacking[one] + lacking[other]
            # at the best, the other class rises by nothing, and nothing is lacking any more
            most = cells.costs[one] + best * removable / cells.sizes[one]
            met = met_cost(shape, cells.leaves[one], cells.levels[one], cells.leaves[other], cells.levels[other], most)
            if met == np.inf:
                continue
            rise = cells.sizes[one] * (met - cells.costs[one]) + cells.sizes[other] * (met - cells.costs[other])
            if rise > best * removable:
                continue
            left = _lack(needs, sums[one], sums[other], cells.sizes[one] + cells.sizes[other])
            rise /= max(removable - left, 1e-9)
            if rise < best:
                best = rise
                chosen[place] = other
        rises[place] = best
    return chosen, rises


@kernel
def join(shape: Shape, cells: Cells, ones: NDArray[np.int64], others: NDArray[np.int64]) -> None:
    """Put the second class of each pair into the first, in place: its levels become those that both share."""
    for pair in range(ones.shape[0]):
        one, other = ones[pair], others[pair]
        levels = cells.levels[one]
        for a in range(levels.shape[0]):
            level = max(levels[a], cells.levels[other, a])
            levels[a] = shared(shape, a, cells.leaves[one, a], cells.leaves[other, a], level)
        cells.costs[one] = cell_cost(shape, cells.leaves[one], levels)
        cells.sizes[one] += cells.sizes[other]


@kernel
def nearest_pairs(shape: Shape, cells: Cells) -> NDArray[np.int64]:
    """Return for each cell the one that it is paired with: of all that are free, the one with the cheapest meet.

    One that is left alone, or meets none, is paired with itself.
    """
    number = cells.sizes.shape[0]
    found = np.full(number, -1, np.int64)
    for one in range(number):
        if found[one] >= 0:
            continue
        best, chosen = np.inf, one
        for other in range(one + 1, number):
            if found[other] >= 0:
                continue
            met = met_cost(shape, cells.leaves[one], cells.levels[one], cells.leaves[other], cells.levels[other], best)
            if met < best:
                best = met
                chosen = other
        found[one], found[chosen] = chosen, one
    return found
