"""Height: how many levels the attributes are generalized, independent of the records.

Sweeney 2002 and LeFevre, DeWitt, Ramakrishnan, Incognito. SIGMOD 2005: the height of a transformation in the lattice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.lattice.space import Levels
from engine.utility.aggregate import AggregateName, aggregate
from engine.utility.information_loss import InformationLoss
from engine.utility.measure import Evaluator, Measure, Reads, RowClasses, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.utility.bounds.box_costs import BoxCosts


class Height(Measure):
    """The level of each attribute."""

    title: ClassVar[str] = "Height"
    meaning: ClassVar[str] = "levels above the source, averaged over the attributes unless the job aggregates otherwise"
    reads: ClassVar[Reads] = "file"
    sums_records: ClassVar[bool] = True

    measure: Literal["height"] = "height"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        return _Height(self.aggregate, weights, [hierarchy.level_count for hierarchy in rows.hierarchies])


class _Height:
    def __init__(self, combine: AggregateName, weights: Sequence[float], heights: Sequence[int]) -> None:
        self._combine = combine
        self._weights = weights
        self._heights = heights

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> InformationLoss:
        del classes, suppressed
        return aggregate(self._combine, [float(level) for level in levels], self._weights)

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> InformationLoss:
        del high, suppressed
        return aggregate(self._combine, [float(level) for level in low], self._weights)

    def box_costs(self) -> BoxCosts:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        from engine.utility.bounds.label_costs import LabelCosts  # noqa: PLC0415

        levels = [np.arange(height, dtype=np.float64) for height in self._heights]
        return LabelCosts(levels, None, self._combine, self._weights)

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        del levels, classes
        return None
