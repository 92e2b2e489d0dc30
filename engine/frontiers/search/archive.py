"""The policies found that no other one found strictly dominates, as a staircase by ascending risk.

Along it the utility loss falls, so one binary search decides whether a point is dominated. Two figures that differ by
less than a hundredth of a billionth of the highest one are equal, because a policy can be reached in two ways. Of
policies with equal figures one is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.frontiers.space.domain import Bits

TOLERANCE = 1e-11


class Archive:
    """A frontier that grows.

    Parameters
    ----------
    size : int
        Bits of a policy.
    highest_risk, highest_loss : float
        Highest figures, for normalization.

    Attributes
    ----------
    points : float64, shape (policies, 2)
        Risk and utility loss of the frontier's policies, normalized, by ascending risk.
    """

    def __init__(self, size: int, highest_risk: float, highest_loss: float) -> None:
        self._size = size
        self._scale = np.array([highest_risk or 1.0, highest_loss or 1.0])
        self.points = np.zeros((0, 2))
        self._figures = np.zeros((0, 2))
        self._packed = np.zeros((0, -(-size // 8)), np.uint8)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def figures(self) -> NDArray[np.float64]:
        """Risk and utility loss as they were offered, shape (policies, 2)."""
        return self._figures

    def bits(self, indexes: NDArray[np.int64] | slice = slice(None)) -> Bits:
        """Return policies of the frontier, bool, shape (policies, size)."""
        return np.unpackbits(self._packed[indexes], axis=1, count=self._size).astype(np.bool_)

    def normalized(self, figures: ArrayLike) -> NDArray[np.float64]:
        """Divide risk and utility loss, shape (policies, 2), by the highest ones."""
        found: NDArray[np.float64] = np.asarray(figures) / self._scale
        return found

    def dominated(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which normalized points, shape (k, 2), a policy of the frontier dominates or equals; shape (k,)."""
        before = np.searchsorted(self.points[:, 0], points[:, 0] + TOLERANCE, side="right")
        losses = np.append(np.inf, self.points[:, 1])
        return losses[before] <= points[:, 1] + TOLERANCE

    def offer(self, figures: NDArray[np.float64], bits_of: Callable[[NDArray[np.int64]], Bits]) -> int:
        """Add policies.

        Parameters
        ----------
        figures : float64, shape (k, 2)
            Risk and utility loss.
        bits_of : function of int64 indexes, shape (j,), to bool, shape (j, size)
            The policies; called only for those that are not dominated.

        Returns
        -------
        int
            Number of these policies that are on the frontier now.
        """
        points = self.normalized(figures)
        new = np.flatnonzero(~self.dominated(points))
        if not new.size:
            return 0
        old = len(self)
        points = np.concatenate([self.points, points[new]])
        kept = _staircase(points)
        mine = kept[kept >= old] - old
        packed = np.concatenate([self._packed, np.zeros((new.size, self._packed.shape[1]), np.uint8)])
        packed[old + mine] = np.packbits(bits_of(new[mine]), axis=1)
        self.points = points[kept]
        self._figures = np.concatenate([self._figures, figures[new]])[kept]
        self._packed = packed[kept]
        return int(mine.size)

    def area(self) -> float:
        """Return the part of the unit square that no policy of the frontier dominates, 0 to 1."""
        return self.undominated((0.0, 0.0), (1.0, 1.0)) if len(self) else 1.0

    def undominated(self, low: tuple[float, float], high: tuple[float, float]) -> float:
        """Return the share of a rectangle that no policy of the frontier dominates.

        Parameters
        ----------
        low, high : float, float
            Normalized risk and utility loss of its corners. Of a rectangle without area, that of its lower corner: 0
            or 1.
        """
        width, height = high[0] - low[0], high[1] - low[1]
        if width <= TOLERANCE or height <= TOLERANCE:
            return float(not self.dominated(np.array([low]))[0])
        begin = int(np.searchsorted(self.points[:, 0], low[0], side="right"))
        end = int(np.searchsorted(self.points[:, 0], high[0], side="left"))
        edges = np.concatenate([[low[0]], self.points[begin:end, 0], [high[0]]])
        losses = np.append(np.inf, self.points[:, 1])[begin : end + 1]
        heights = np.clip(losses, low[1], high[1]) - low[1]
        return float(np.diff(edges) @ heights) / (width * height)


def _staircase(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indexes of the undominated points, shape (k, 2), by ascending risk."""
    order: NDArray[np.int64] = np.lexsort([points[:, 1], points[:, 0]])
    losses = points[order, 1]
    lowest = np.minimum.accumulate(np.append(np.inf, losses[:-1]))
    order = order[losses < lowest - TOLERANCE]
    apart = np.append(np.diff(points[order, 0]) > TOLERANCE, True)
    found: NDArray[np.int64] = order[apart]
    return found
