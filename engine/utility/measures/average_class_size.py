"""Average class size: records per equivalence class; the suppressed records are one class.

LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity. ICDE 2006, section 5 (there divided by k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.utility.measure import Evaluator, Measure, Reads, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class AverageClassSize(Measure):
    """Records per class; attributes, weights and aggregate have no effect. Infinite if a factor leaves no class."""

    title: ClassVar[str] = "Average class size"
    meaning: ClassVar[str] = "records per class that is kept; suppressed records count as one class"
    reads: ClassVar[Reads] = "file"

    measure: Literal["average-class-size"] = "average-class-size"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        from engine.utility.bounds.class_costs import AverageCosts  # noqa: PLC0415 (job files parse without numpy)
        from engine.utility.classwise import ClasswiseEvaluator  # noqa: PLC0415

        del weights
        g, s, records = self.generalization_factor, self.suppression_factor, rows.records

        def average(counts: NDArray[np.int64], suppressed: NDArray[np.bool_]) -> float:
            gone = int((suppressed & (counts > 0)).sum())
            divisor = (int((counts > 0).sum()) - gone) * s + (g if gone else 0.0)
            return records / divisor if divisor else math.inf

        def least(counts: NDArray[np.int64], suppressed: NDArray[np.bool_]) -> float:
            # a class that is known to be suppressed is one class fewer in every case
            gone = suppressed & (counts > 0)
            classes = int((counts > 0).sum() - gone.sum())
            divisor = max(classes * s + (g if gone.any() else 0.0), (classes - 1) * s + g)
            return records / divisor if divisor > 0 else 0.0

        return ClasswiseEvaluator(rows, average, least, AverageCosts(records, g, s))
