"""Bounds of measures that are sums of costs of labels: additive measures, entropy, and height.

A record, kept or suppressed, costs at least `least` for its label at a level, and if suppressed `more` in addition;
`least` and their sum never fall with the level. Costs are scaled so that their sums are the losses that the aggregate
combines: a mean or a sum needs one part for all attributes, other aggregates one part per attribute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.kernels.boxes import with_cost
from engine.kernels.label_maps import bits_of_labels, least_by_label
from engine.kernels.refine import class_counts
from engine.lattice.space import Levels
from engine.utility.aggregate import AggregateName, aggregate, scales
from engine.utility.bounds.box_costs import Bound, Box
from engine.utility.information_loss import ranked

Labels = Sequence[Sequence[NDArray[np.float64]]]
"""Costs by attribute and level, one per label code."""


class LabelCosts:
    """See `BoxCosts`.

    Parameters
    ----------
    totals : sequence by attribute of float64 arrays, shape (levels,)
        The least total cost of all records of the table at each level.
    more : Labels or None
        Additional cost of a suppressed record; None if unknown.
    combine, weights
        The aggregate over attributes; `totals` and `more` are not weighted yet.

    Attributes
    ----------
    is_linear : bool
        Whether the loss is the sum of all costs: a bound has one part.
    totals, more
        The parameters, weighted; `more` is empty if unknown.
    """

    def __init__(
        self,
        totals: Sequence[NDArray[np.float64]],
        more: Labels | None,
        combine: AggregateName,
        weights: Sequence[float],
    ) -> None:
        self.is_linear = combine in {"arithmetic-mean", "sum"}
        self._scales = scales(combine, weights)
        self._combine: AggregateName = combine
        self.totals = [scale * total for scale, total in zip(self._scales, totals, strict=True)]
        self.more: Labels = [
            [scale * costs for costs in levels] for scale, levels in zip(self._scales, more or [], strict=False)
        ]
        self.weighs = more is not None
        self.rises = True
        self.adds = True
        self.reads_fixed = False
        self.carried: NDArray[np.float64] | None = None
        self._changes: dict[tuple[int, int, int], NDArray[np.float64]] = {}
        self._parts = 1 if self.is_linear else len(weights)

    def weights(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.weights`."""
        found = np.zeros((self._parts, box.counts.size))
        for a, (level, levels) in enumerate(zip(box.low, self.more, strict=False)):
            part = self._part(a)
            found[part] = with_cost(found[part], box.columns[a], box.counts, levels[level])
        return found

    def lifted(
        self, box: Box, weights: NDArray[np.float64], a: int, old: int, column: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """See `BoxCosts.lifted`."""
        part = self._part(a)
        raised = with_cost(weights[part], column, box.counts, self._change(box, a, old, box.low[a]))
        if self.is_linear:
            return raised[None, :]
        found = weights.copy()
        found[part] = raised
        return found

    def base(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.base`."""
        costs = [self.cost(box, a, level) for a, level in enumerate(box.low)]
        return np.array([math.fsum(costs)] if self.is_linear else costs)

    def raised(self, box: Box, base: NDArray[np.float64], a: int, level: int) -> NDArray[np.float64]:
        """See `BoxCosts.raised`."""
        found = base.copy()
        found[self._part(a)] += self._rise(box, a, level)
        return found

    def bound(self, parts: Sequence[float]) -> Bound:
        """See `BoxCosts.bound`."""
        if self.is_linear:
            return (float(parts[0]),)
        return ranked(aggregate(self._combine, [float(part) for part in parts], [1.0] * len(parts)))

    def above(self, box: Box, base: NDArray[np.float64], a: int, level: int) -> Bound:
        """See `BoxCosts.above`."""
        parts = base.tolist()
        parts[self._part(a)] += self._rise(box, a, level)
        return self.bound(parts)

    def floor(self, box: Box, base: NDArray[np.float64], levels: Levels) -> Bound:
        """See `BoxCosts.floor`."""
        parts = base.tolist()
        for a, (level, low) in enumerate(zip(levels, box.low, strict=True)):
            if level > low:
                parts[self._part(a)] += self._rise(box, a, level)
        return self.bound(parts)

    def settled(
        self, box: Box, base: NDArray[np.float64], weights: NDArray[np.float64], fails: NDArray[np.bool_]
    ) -> Bound:
        """See `BoxCosts.settled`."""
        del box
        return self.bound((base + weights[:, fails].sum(axis=1)).tolist() if self.weighs else base.tolist())

    def cost(self, box: Box, a: int, level: int) -> float:
        """Return the least cost of an attribute at a level."""
        del box
        return float(self.totals[a][level])

    def _rise(self, box: Box, a: int, level: int) -> float:
        """Return the additional cost of an attribute at a level, compared with the box's lowest level."""
        low = box.low[a]
        rise = float(self.totals[a][level] - self.totals[a][low])
        if not self.weighs or not box.gone_records:
            return rise
        return rise + float(self._change(box, a, low, level) @ box.gone_labels[a])

    def _change(self, box: Box, a: int, low: int, level: int) -> NDArray[np.float64]:
        """Return the change of the cost of suppression between two levels, by label code at the lower level."""
        known = self._changes.get((a, low, level))
        if known is None:
            known = self.more[a][level][box.up(a, low, level)] - self.more[a][low]
            self._changes[a, low, level] = known
        return known

    def _part(self, a: int) -> int:
        return 0 if self.is_linear else a


class EntropyCosts(LabelCosts):
    """Bounds of non-uniform entropy: for suppressed records only the entropy at the highest levels is certain.

    The entropy of counted values times their number never falls when a record is added, or when values are split.

    Parameters
    ----------
    totals, combine, weights
        See `LabelCosts`; the bits that generalization leaves open.
    factor : float
        Factor of the bits of suppressed records.
    """

    def __init__(
        self, totals: Sequence[NDArray[np.float64]], factor: float, combine: AggregateName, weights: Sequence[float]
    ) -> None:
        super().__init__(totals, None, combine, weights)
        self.adds = False
        self.reads_fixed = True
        self._factor = factor

    def cost(self, box: Box, a: int, level: int) -> float:
        """See `LabelCosts.cost`."""
        cost = super().cost(box, a, level)
        if not box.gone_records:
            return cost
        return cost + self._lost(box, a, box.gone_labels[a])

    def settled(
        self, box: Box, base: NDArray[np.float64], weights: NDArray[np.float64], fails: NDArray[np.bool_]
    ) -> Bound:
        """See `BoxCosts.settled`: with the suppressed rows the bits are known."""
        del base, weights
        costs = []
        for a, level in enumerate(box.low):
            labels = box.gone_labels[a] + class_counts(
                box.columns[a][fails], box.gone_labels[a].size, box.counts[fails]
            )
            costs.append(super().cost(box, a, level) + self._lost(box, a, labels))
        return self.bound([math.fsum(costs)] if self.is_linear else costs)

    def _lost(self, box: Box, a: int, labels: NDArray[np.int64]) -> float:
        return float(self._factor * self._scales[a] * bits_of_labels(box.up(a, box.low[a], box.high[a]), labels))


def by_label(
    hierarchy: Hierarchy, costs: NDArray[np.float64], leaves: NDArray[np.int64] | None = None
) -> list[NDArray[np.float64]]:
    """Turn costs by level and leaf into costs by level and label code; a label without any of the leaves costs 0.

    Leaves with the same label cost the same, except for values without a hierarchy entry: then the lower cost is used.

    Parameters
    ----------
    hierarchy : Hierarchy
    costs : float64, shape (levels, leaves)
    leaves : int64, shape (leaves,), or None
        Which of all leaves have costs; None if all have.
    """
    return [
        least_by_label(codes if leaves is None else codes[leaves], cost, len(labels))
        for codes, labels, cost in zip(hierarchy.codes, hierarchy.labels, costs, strict=True)
    ]
