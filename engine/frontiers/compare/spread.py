"""The subset of a frontier that covers most of the risk-utility plane: hypervolume subset selection.

In: the points of a frontier, and those that must be chosen. Out: the positions of at most k points that together
dominate the largest share of the unit square. In two dimensions the choice splits at every point chosen, so dynamic
programming over the staircase finds the best subset exactly in O(k n^2) (Auger, Bader, Brockhoff, Zitzler,
Investigating and exploiting the bias of the weighted hypervolume to articulate user preferences, GECCO 2009). Faster
exact methods are known (Bringmann, Friedrich, Klitzke, Two-dimensional subset selection for hypervolume and
epsilon-indicator, GECCO 2014; Kuhn et al., Hypervolume subset selection in two dimensions, Evolutionary Computation
24:411, 2016); for some thousands of points and seven places they are not needed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def best_spread(risk: NDArray[np.float64], loss: NDArray[np.float64], forced: Iterable[int], size: int) -> list[int]:
    """Choose the points that together dominate most of the unit square.

    Parameters
    ----------
    risk : float64 (n,)
        Normalized risk, ascending.
    loss : float64 (n,)
        Normalized utility loss, descending.
    forced : iterable of int
        Positions that must be among the chosen.
    size : int
        Number of points that may be chosen, at least as many as are forced.

    Returns
    -------
    list of int
        Ascending. Of subsets that dominate the same share the smallest, so a point that adds nothing is not chosen
        unless it is forced. Memory is O(n size).
    """
    must = set(forced)
    points, size = len(risk), min(size, len(risk))
    width, height = np.clip(risk, 0.0, 1.0), 1.0 - np.clip(loss, 0.0, 1.0)
    # covered[j, i]: the most that j + 1 points dominate to the left of point i, which is the last of them.
    covered = np.full((size, points), -np.inf)
    before = np.full((size, points), -1, dtype=np.int64)
    covered[0, : min(must, default=points - 1) + 1] = 0.0
    for chosen in range(1, size):
        start = 0
        for point in range(1, points):
            if point - 1 in must:
                start = point - 1
            gained = covered[chosen - 1, start:point] + (width[point] - width[start:point]) * height[start:point]
            best = int(np.argmax(gained))
            covered[chosen, point], before[chosen, point] = gained[best], start + best
    last = max(must, default=0)
    total = covered[:, last:] + ((1.0 - width) * height)[last:]
    count = _fewest(total.max(axis=1))
    return _traced(before, count, last + int(np.argmax(total[count])))


def _fewest(totals: NDArray[np.float64]) -> int:
    """Return the first position that is equal to the best one up to rounding."""
    return int(np.argmax(totals >= totals.max() - 1e-12))


def _traced(before: NDArray[np.int64], count: int, last: int) -> list[int]:
    """Follow the choices back from the last point."""
    positions = [last]
    for chosen in range(count, 0, -1):
        positions.append(int(before[chosen, positions[-1]]))
    return positions[::-1]
