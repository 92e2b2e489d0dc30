"""Bounds of measures that need a pass over the rows of a box."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Levels
from engine.utility.bounds.box_costs import Bound, Box


class PassCosts:
    """See `BoxCosts`: one part, computed by a new pass over the rows whenever they change."""

    weighs = True
    rises = True
    adds = False
    reads_fixed = True
    carried: NDArray[np.float64] | None = None

    @abstractmethod
    def weights(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.weights`."""

    @abstractmethod
    def base(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.base`."""

    def lifted(
        self, box: Box, weights: NDArray[np.float64], a: int, old: int, column: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """See `BoxCosts.lifted`: weights at lower levels are too high to be added to a bound at higher ones."""
        del weights, a, old, column
        return self.weights(box)

    def raised(self, box: Box, base: NDArray[np.float64], a: int, level: int) -> NDArray[np.float64]:
        """See `BoxCosts.raised`."""
        del base, a, level
        return self.base(box)

    def bound(self, parts: Sequence[float]) -> Bound:
        """See `BoxCosts.bound`."""
        return (float(parts[0]),)

    def above(self, box: Box, base: NDArray[np.float64], a: int, level: int) -> Bound:
        """See `BoxCosts.above`."""
        del box, a, level
        return self.bound(base.tolist())

    def floor(self, box: Box, base: NDArray[np.float64], levels: Levels) -> Bound:
        """See `BoxCosts.floor`."""
        del box, levels
        return self.bound(base.tolist())


class RowCosts(PassCosts):
    """Sums over rows: each row has a cost while it is kept, and a higher one if it is suppressed."""

    @abstractmethod
    def kept(self, box: Box) -> NDArray[np.float64]:
        """Return the least cost of each row while it is kept, shape (R,)."""

    @abstractmethod
    def suppressed(self, records: NDArray[np.int64] | int) -> Any:
        """Return the cost of suppressed records."""

    def weights(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.weights`."""
        more: NDArray[np.float64] = np.maximum(self.suppressed(box.counts) - self.kept(box), 0.0)
        return more[None, :]

    def base(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.base`."""
        kept: NDArray[np.float64] = np.minimum(self.kept(box), self.suppressed(box.counts))
        return np.array([kept.sum() + float(self.suppressed(box.gone_records))])

    def settled(
        self, box: Box, base: NDArray[np.float64], weights: NDArray[np.float64], fails: NDArray[np.bool_]
    ) -> Bound:
        """See `BoxCosts.settled`."""
        del box
        return self.bound([float(base[0] + weights[0][fails].sum())])
