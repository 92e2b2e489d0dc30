"""Ambiguity: how many combinations of leaf values each record may stand for.

Goldberger, Tassa, Efficient anonymizations with enhanced utility. Trans Data Priv 3(2), 2010, section 3: the product,
over attributes, of the leaves below the released value; a suppressed record may stand for every combination.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from engine.lattice.space import Levels
from engine.utility.measure import Evaluator, Measure, Reads, RowClasses, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.utility.bounds.box_costs import BoxCosts


class Ambiguity(Measure):
    """Combinations of leaves, summed over records; weights and aggregate have no effect."""

    title: ClassVar[str] = "Ambiguity"
    meaning: ClassVar[str] = "combinations of values that the records can stand for"
    reads: ClassVar[Reads] = "domains"
    sums_records: ClassVar[bool] = True

    measure: Literal["ambiguity"] = "ambiguity"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        del weights
        return _Ambiguity(rows)


class _Ambiguity:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._leaves = [hierarchy.leaf_rows() for hierarchy in rows.hierarchies]
        self._generalized: dict[Levels, float] = {}
        self._everything = 1.0
        for hierarchy in rows.hierarchies:
            self._everything *= hierarchy.domain_size

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> float:
        del classes
        return self._sum(levels, suppressed)

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> float:
        del high
        return self._sum(low, suppressed)

    def box_costs(self) -> BoxCosts:
        from engine.utility.bounds.class_costs import CombinationCosts  # noqa: PLC0415 (job files parse without numpy)

        return CombinationCosts(self._rows.hierarchies, self._leaves, self._everything)

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        combinations = self._rows.counts.astype(np.float64)
        for codes, leaves, level in zip(self._rows.codes, self._leaves, levels, strict=True):
            combinations *= leaves[level][codes]
        sums = np.bincount(classes.gid, weights=combinations, minlength=classes.size)
        place: NDArray[np.int64] = np.unique(sums, return_inverse=True)[1]
        return place

    def _sum(self, levels: Levels, suppressed: NDArray[np.int64]) -> float:
        if levels not in self._generalized:
            self._generalized[levels] = self._combinations(levels, None)
        if not suppressed.size:
            return self._generalized[levels]
        gone = float(self._rows.counts[suppressed].sum())
        return self._generalized[levels] - self._combinations(levels, suppressed) + self._everything * gone

    def _combinations(self, levels: Levels, chosen: NDArray[np.int64] | None) -> float:
        """Sum over the records of all rows, or of the chosen rows, while nothing is suppressed."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        rows: Any = slice(None) if chosen is None else chosen
        counts = self._rows.counts[rows]
        product = np.ones(counts.size)
        for codes, leaves, level in zip(self._rows.codes, self._leaves, levels, strict=True):
            product *= leaves[level][codes[rows]]
        return float(product @ counts)
