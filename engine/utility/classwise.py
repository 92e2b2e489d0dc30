"""Measures of the classes of a transformation as a whole, not of its attributes one by one.

In: the size of each class and which are suppressed. Out: one figure. The bound of a box uses the classes at its lowest
levels, which are at least as fine as those of any transformation in it: the records known to be suppressed are a union
of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Levels
from engine.utility.bounds.box_costs import BoxCosts
from engine.utility.measure import RowClasses, Rows

Judge = Callable[[NDArray[np.int64], NDArray[np.bool_]], float]
"""From class sizes, shape (C,), and which classes are suppressed, shape (C,)."""

_REMEMBERED = 64


class ClasswiseEvaluator:
    """Loss and bound of a measure of classes.

    Parameters
    ----------
    rows : Rows
    loss : callable
        Of the classes of a transformation.
    bound : callable
        The same from below, of the classes at the lowest levels of a box.
    costs : BoxCosts
    """

    def __init__(self, rows: Rows, loss: Judge, bound: Judge, costs: BoxCosts) -> None:
        self._rows = rows
        self._loss = loss
        self._bound = bound
        self._costs = costs
        self._finest: OrderedDict[Levels, RowClasses] = OrderedDict()

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> float:
        """See `Evaluator.loss`."""
        del levels
        return self._loss(classes.counts, _marked(classes, suppressed))

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> float:
        """See `Evaluator.bound`."""
        del high
        classes = self._finest.get(low)
        if classes is None:
            classes = self._finest[low] = self._rows.partition(low)
            if len(self._finest) > _REMEMBERED:
                self._finest.popitem(last=False)
        return self._bound(classes.counts, _marked(classes, suppressed))

    def box_costs(self) -> BoxCosts:
        """See `Evaluator.box_costs`."""
        return self._costs

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        """See `Evaluator.class_order`."""
        del levels, classes
        return None


def _marked(classes: RowClasses, suppressed: NDArray[np.int64]) -> NDArray[np.bool_]:
    marked = np.zeros(classes.size, np.bool_)
    marked[classes.gid[suppressed]] = True
    return marked
