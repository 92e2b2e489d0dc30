"""Bounds of discernibility, average class size and ambiguity on the rows of a box.

The rows are at least as fine as the classes of any transformation in the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.kernels.boxes import most_classes
from engine.utility.bounds.box_costs import Bound, Box
from engine.utility.bounds.label_costs import by_label
from engine.utility.bounds.row_costs import PassCosts, RowCosts


class PairCosts(RowCosts):
    """Discernibility: squares of counts while rows are kept, all `records` for each suppressed record."""

    def __init__(self, records: int) -> None:
        self._records = float(records)

    def kept(self, box: Box) -> NDArray[np.float64]:
        """See `RowCosts.kept`."""
        return np.square(box.counts.astype(np.float64))

    def suppressed(self, records: NDArray[np.int64] | int) -> Any:
        """See `RowCosts.suppressed`."""
        return self._records * records


class CombinationCosts(RowCosts):
    """Ambiguity: combinations of leaves below the labels while rows are kept, all combinations if not.

    Parameters
    ----------
    leaves : sequence by attribute of float64 arrays, shape (levels, leaves)
        Rows of the hierarchy below each label.
    everything : float
        All combinations.
    """

    def __init__(
        self, hierarchies: Sequence[Hierarchy], leaves: Sequence[NDArray[np.float64]], everything: float
    ) -> None:
        self._below = [by_label(hierarchy, below) for hierarchy, below in zip(hierarchies, leaves, strict=True)]
        self._everything = everything

    def kept(self, box: Box) -> NDArray[np.float64]:
        """See `RowCosts.kept`."""
        product: NDArray[np.float64] = box.counts.astype(np.float64)
        for column, below, level in zip(box.columns, self._below, box.low, strict=True):
            product *= below[level][column]
        return product

    def suppressed(self, records: NDArray[np.int64] | int) -> Any:
        """See `RowCosts.suppressed`."""
        return self._everything * records


class AverageCosts(PassCosts):
    """Average class size: from the most classes that can be kept; see `BoxCosts`.

    A class that is kept has a row that is large enough alone, or only rows that are not. Of the latter there are, in
    one class of the box's highest levels, at most as many as their records divided by the minimum class size.
    """

    weighs = False
    reads_fixed = False

    def __init__(self, records: int, g: float, s: float) -> None:
        self._records, self._g, self._s = records, g, s

    def weights(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.weights`."""
        return np.zeros((1, box.counts.size))

    def base(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.base`."""
        most, present = most_classes(box.gid, box.size, box.counts, box.minimum)
        some_suppressed = most if box.gone_records else min(most, present - 1)
        divisor = some_suppressed * self._s + self._g
        if not box.gone_records:
            divisor = max(divisor, most * self._s)
        return np.array([self._records / divisor if divisor > 0 else 0.0])

    def settled(
        self, box: Box, base: NDArray[np.float64], weights: NDArray[np.float64], fails: NDArray[np.bool_]
    ) -> Bound:
        """See `BoxCosts.settled`."""
        del box, weights, fails
        return self.bound(base.tolist())
