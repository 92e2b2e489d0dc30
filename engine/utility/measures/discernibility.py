"""Discernibility: the number of records from which each record cannot be distinguished.

Bayardo, Agrawal, Data privacy through optimal k-anonymization. ICDE 2005, section 3: the squares of the kept classes,
and for each suppressed record the size of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.utility.measure import Evaluator, Measure, Reads, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Discernibility(Measure):
    """Pairs of records that look the same; attributes, weights and aggregate have no effect."""

    title: ClassVar[str] = "Discernibility"
    meaning: ClassVar[str] = "sum over records of how many look the same, which for a suppressed one is all"
    reads: ClassVar[Reads] = "file"

    measure: Literal["discernibility"] = "discernibility"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        from engine.utility.bounds.class_costs import PairCosts  # noqa: PLC0415 (job files parse without numpy)
        from engine.utility.classwise import ClasswiseEvaluator  # noqa: PLC0415

        del weights
        records = rows.records

        def pairs(counts: NDArray[np.int64], suppressed: NDArray[np.bool_]) -> float:
            kept, gone = counts[~suppressed], counts[suppressed]
            return float(kept @ kept) + float(records) * float(gone.sum())

        return ClasswiseEvaluator(rows, pairs, pairs, PairCosts(records))
