"""Kullback-Leibler divergence of the original distribution of tuples from the released one, in bits.

The `kl-divergence` of a frontier is in nats: `engine/frontiers/measures/utility_kl_divergence.py`.

Kifer, Gehrke, Injecting utility into anonymized datasets. SIGMOD 2006, section 3, as the definitions sum it: over
records, p log2(p / q) with p the share of the record's tuple, and q the share of its class spread evenly over the
combinations of leaves that the class may stand for; suppressed records are one class that may stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.lattice.space import Levels
from engine.utility.measure import Evaluator, Measure, RowClasses, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.utility.bounds.box_costs import BoxCosts


class KullbackLeiblerDivergence(Measure):
    """Divergence in bits; weights and aggregate have no effect. Only `box_costs` gives a bound."""

    title: ClassVar[str] = "Kullback-Leibler divergence"
    meaning: ClassVar[str] = "of the source from the release, in bits"
    compares_tuples: ClassVar[bool] = True

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

        rows = self._rows
        sizes = classes.counts[classes.gid].astype(np.float64)
        sizes[suppressed] = rows.counts[suppressed].sum()
        # p / q is the tuple's records times the leaf combinations of its class, over the records of the class. The
        # product exceeds the range of doubles, so its exponent is kept separately; a ratio of exactly 1 adds exactly 0.
        product, exponent = np.frexp(np.maximum(rows.counts, 1).astype(np.float64))
        for a, (codes, leaves) in enumerate(zip(rows.codes, self._leaves, strict=True)):
            below = leaves[levels[a]][codes]
            below[suppressed] = rows.hierarchies[a].domain_size
            product, raised = np.frexp(product * below)
            exponent = exponent + raised
        # rows that only the population has have no record; they count as one in logarithms
        bits = np.log2(product / np.maximum(sizes, 1.0)) + exponent
        return float((rows.counts * (rows.counts / rows.records)) @ bits)

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> float:
        del low, high, suppressed
        return float("-inf")

    def box_costs(self) -> BoxCosts:
        from engine.utility.bounds.divergence_costs import DivergenceCosts  # noqa: PLC0415 (job files parse without numpy)

        return DivergenceCosts(self._rows.counts, self._rows.hierarchies, self._leaves)

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        del levels, classes
        return None
