"""Kullback-Leibler divergence of the original distribution of tuples from the released one.

Kifer, Gehrke, Injecting utility into anonymized datasets. SIGMOD 2006, section 3, as the definitions sum it: over
records, p log2(p / q) with p the share of the record's tuple, and q the share of its class spread evenly over the
combinations of leaves that the class may stand for; suppressed records are one class that may stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from engine.utility.measure import Evaluator, Levels, Measure, RowClasses, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class KullbackLeiblerDivergence(Measure):
    """Divergence in bits; weights and aggregate play no part. No bound is known, so nothing can be pruned by it."""

    measure: Literal["kl-divergence"] = "kl-divergence"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        del weights
        return _Divergence(rows)


class _Divergence:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._leaves = [hierarchy.leaf_rows() for hierarchy in rows.hierarchies]

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> float:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        rows, records = self._rows, self._rows.records
        own = rows.counts / records
        # logarithms, because the product of many domains leaves the range of doubles
        spread = np.zeros(rows.counts.size)
        for codes, leaves, level in zip(rows.codes, self._leaves, levels, strict=True):
            spread += np.log2(leaves[level][codes])
        share = np.log2(classes.counts[classes.gid] / records)
        if suppressed.size:
            spread[suppressed] = sum(np.log2(float(hierarchy.domain_size)) for hierarchy in rows.hierarchies)
            share[suppressed] = np.log2(rows.counts[suppressed].sum() / records)
        return float((rows.counts * own) @ (np.log2(own) - share + spread))

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> float:
        del low, high, suppressed
        return float("-inf")
