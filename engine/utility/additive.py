"""Measures that are sums, over records and attributes, of a cost read off a table.

A record costs `kept[a][l][leaf]` at level l of attribute a if its class is kept and `suppressed[a][l][leaf]` if not.
The sum over all records needs marginal counts only; suppression adds its difference row by row. Where costs are whole
numbers below 2**53 in sum (leaf counts), the arithmetic is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.utility.aggregate import AggregateName, aggregate
from engine.utility.measure import Levels, RowClasses, Rows

Cost = NDArray[np.float64]
"""Costs of one attribute, shape (levels, leaves)."""


class AdditiveEvaluator:
    """Loss and bound of an additive measure.

    Parameters
    ----------
    rows : Rows
        The frequency table.
    kept, suppressed : sequence of arrays, one per attribute, shape (levels, leaves)
        Cost of a record by level and leaf code.
    normalize : callable (attribute index, total cost) -> float
        Turns the total cost of an attribute into its loss; must not fall as the cost rises.
    combine, weights
        The aggregate over attributes.
    """

    def __init__(
        self,
        rows: Rows,
        kept: Sequence[Cost],
        suppressed: Sequence[Cost],
        normalize: Callable[[int, float], float],
        combine: AggregateName,
        weights: Sequence[float],
    ) -> None:
        self._rows = rows
        self._kept = kept
        self._suppressed = suppressed
        self._normalize = normalize
        self._combine = combine
        self._weights = tuple(weights)
        self._marginals = [
            np.bincount(rows.codes[a], weights=rows.counts, minlength=cost.shape[1]) for a, cost in enumerate(kept)
        ]
        self._cache: dict[tuple[int, int, int], tuple[float, Cost]] = {}

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> float:
        """See `Evaluator.loss`."""
        del classes
        return self._total([self._exact(a, level) for a, level in enumerate(levels)], suppressed)

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> float:
        """See `Evaluator.bound`."""
        pairs = enumerate(zip(low, high, strict=True))
        return self._total([self._least(a, bottom, top) for a, (bottom, top) in pairs], suppressed)

    def _total(self, parts: Sequence[tuple[float, Cost]], suppressed: NDArray[np.int64]) -> float:
        counts = self._rows.counts[suppressed]
        losses = []
        for a, (base, extra) in enumerate(parts):
            surplus = float(extra[self._rows.codes[a, suppressed]] @ counts) if suppressed.size else 0.0
            losses.append(self._normalize(a, base + surplus))
        return aggregate(self._combine, losses, self._weights)

    def _exact(self, a: int, level: int) -> tuple[float, Cost]:
        """Cost of keeping everything at `level`, and what suppressing a record adds, by leaf."""
        return self._entry(a, level, level, self._kept[a][level], self._suppressed[a][level])

    def _least(self, a: int, low: int, high: int) -> tuple[float, Cost]:
        """Like `_exact`, from below, for every level from `low` to `high`."""
        if (a, low, high) in self._cache:
            return self._cache[a, low, high]
        suppressed = self._suppressed[a][low : high + 1].min(axis=0)
        kept = np.minimum(self._kept[a][low : high + 1].min(axis=0), suppressed)
        # at a single level the bound must not give away what is known: a kept record costs what it costs
        if low == high:
            kept = np.minimum(self._kept[a][low], suppressed)
        return self._entry(a, low, high, kept, suppressed, store=True)

    def _entry(
        self, a: int, low: int, high: int, kept: Cost, suppressed: Cost, *, store: bool = False
    ) -> tuple[float, Cost]:
        entry = (float(kept @ self._marginals[a]), suppressed - kept)
        if store:
            self._cache[a, low, high] = entry
        return entry
