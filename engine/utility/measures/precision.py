"""Precision: how high in its hierarchy a released value is, averaged over records.

Sweeney, Achieving k-anonymity privacy protection using generalization and suppression. Int J Uncertain Fuzz 10(5),
2002, section 5 (there as 1 minus this). An attribute with one level loses nothing by generalization.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from engine.utility.measure import Evaluator, Measure, Reads, Rows


class Precision(Measure):
    """Height of the released values, 0 (leaves) to 1 (roots)."""

    title: ClassVar[str] = "Precision loss"
    meaning: ClassVar[str] = "height of the levels; 0 as the source, 1 nothing left"
    is_share: ClassVar[bool] = True
    reads: ClassVar[Reads] = "file"
    sums_records: ClassVar[bool] = True
    sums_attributes: ClassVar[bool] = True

    measure: Literal["precision"] = "precision"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        from engine.utility.additive import AdditiveEvaluator  # noqa: PLC0415

        kept, suppressed, divisors = [], [], []
        for hierarchy in rows.hierarchies:
            levels, leaves = hierarchy.codes.shape
            kept.append(np.repeat(np.arange(levels, dtype=np.float64)[:, None], leaves, axis=1))
            suppressed.append(np.full((levels, leaves), self.suppression_factor * (levels - 1)))
            divisors.append(float(rows.records * (levels - 1)))
        return AdditiveEvaluator(
            rows,
            factor=self.generalization_factor,
            kept=kept,
            suppressed=suppressed,
            divisors=divisors,
            combine=self.aggregate,
            weights=weights,
        )
