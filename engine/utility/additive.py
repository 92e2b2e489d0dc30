"""Measures that are sums, over records and attributes, of a cost from a table.

A record costs `factor * kept[a][l][leaf]` at level l of attribute a if its class is kept, and `suppressed[a][l][leaf]`
if not. The costs of kept records are whole numbers, so their sum minus those of the suppressed records is exact below
2**53: there is no cancellation, and a transformation that loses nothing has a loss of exactly 0 in any order of
summation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels.refine import costs_of_rows
from engine.lattice.space import Levels
from engine.utility.aggregate import AggregateName, aggregate, order_by_aggregate, scales
from engine.utility.bounds.label_costs import LabelCosts, by_label
from engine.utility.information_loss import InformationLoss
from engine.utility.measure import RowClasses, Rows

Cost = NDArray[np.float64]
"""Costs of one attribute, shape (levels, leaves)."""


@dataclass(frozen=True)
class _Part:
    """Costs of the records of one attribute by present leaf: kept ones `factor * kept`, whole; `total` their sum."""

    factor: float
    kept: Cost
    suppressed: Cost
    total: float

    def cost(self, codes: NDArray[np.int32], counts: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
        """Return the cost of all records, of which those of some rows are suppressed."""
        if not rows.size:
            return self.factor * self.total
        kept, suppressed = costs_of_rows(codes, rows, counts, self.kept, self.suppressed)
        return self.factor * (self.total - kept) + suppressed


@dataclass(frozen=True, eq=False)
class _Present:
    """The leaves of an attribute that are counted: where a table has few of those of its hierarchy, only these.

    Attributes
    ----------
    leaves : int64, shape (P,), or None
        Leaf codes; None where all are counted.
    codes : int32, shape (R,)
        Place among them of the leaf of each row; of a row without records it has no meaning.
    records : float64, shape (P,)
    """

    leaves: NDArray[np.int64] | None
    codes: NDArray[np.int32]
    records: NDArray[np.float64]

    def of(self, costs: Cost) -> Cost:
        """Return the costs of these leaves, of the costs of all, which are the last dimension; C-contiguous."""
        return costs if self.leaves is None else costs.take(self.leaves, axis=-1)


_FEW = 2
"""They are few if there are this many times as many."""


def _present(codes: NDArray[np.int32], of_leaf: NDArray[np.int64]) -> _Present:
    records, leaves = of_leaf.astype(np.float64), np.flatnonzero(of_leaf)
    if _FEW * leaves.size > records.size:
        return _Present(None, codes, records)
    places = np.zeros(records.size, np.int32)
    places[leaves] = np.arange(leaves.size)
    return _Present(leaves, places[codes], records[leaves])


class AdditiveEvaluator:
    """Loss and bound of an additive measure.

    Parameters
    ----------
    rows : Rows
        The frequency table.
    factor : float
        Of the costs of kept records, 0 to 1.
    kept : sequence of arrays, one per attribute, shape (levels, leaves)
        Cost of a kept record by level and leaf code: whole numbers, not falling with the level.
    suppressed : sequence of arrays, one per attribute, shape (levels, leaves)
        Cost of a suppressed record, at least 0.
    divisors : sequence of float
        Divisor of the total cost of each attribute; 0 for an attribute without loss, independent of its cost.
    combine, weights
        The aggregate over attributes.
    orders_classes : bool
        Whether `class_order` gives an order.
    """

    def __init__(
        self,
        rows: Rows,
        factor: float,
        kept: Sequence[Cost],
        suppressed: Sequence[Cost],
        divisors: Sequence[float],
        combine: AggregateName,
        weights: Sequence[float],
        *,
        orders_classes: bool = False,
    ) -> None:
        self._rows = rows
        self._factor = factor
        self._kept = kept
        self._suppressed = suppressed
        self._divisors = divisors
        self._combine: AggregateName = combine
        self._weights = tuple(weights)
        self._orders_classes = orders_classes
        self._present = [_present(*of) for of in zip(rows.codes, rows.leaf_records, strict=True)]
        self._cache: dict[tuple[int, int, int], _Part] = {}
        self._least_losses: list[dict[tuple[int, int], float]] = [{} for _ in divisors]

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> InformationLoss:
        """See `Evaluator.loss`."""
        del classes
        return self._total(list(map(self._exact, range(len(levels)), levels)), suppressed)

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> InformationLoss:
        """See `Evaluator.bound`."""
        if not suppressed.size:
            # asked for each neighbour of each transformation of a descent: of hundreds of attributes one differs
            losses = list(map(self._least_loss, range(len(low)), low, high))
            return aggregate(self._combine, losses, self._weights)
        return self._total(list(map(self._least, range(len(low)), low, high)), suppressed)

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        """See `Evaluator.class_order`."""
        if not self._orders_classes:
            return None
        losses = np.zeros((len(levels), classes.size))
        for a, level in enumerate(levels):
            if self._divisors[a]:
                # by row: values without a hierarchy entry cost more than others with the label of the root
                costs = self._kept[a][level][self._rows.codes[a]] * self._rows.counts
                losses[a] = np.bincount(classes.gid, weights=costs, minlength=classes.size) / self._divisors[a]
        return order_by_aggregate(self._combine, losses, self._weights)

    def record_costs(self) -> list[Cost]:
        """Return what a kept record adds to the loss, by attribute, where the aggregate is a mean or a sum."""
        return [self._factor * kept * scale for kept, scale in zip(self._kept, self._scales(), strict=True)]

    def suppressed_costs(self) -> list[Cost]:
        """Return the same of a suppressed record."""
        return [suppressed * scale for suppressed, scale in zip(self._suppressed, self._scales(), strict=True)]

    def _scales(self) -> list[float]:
        factors = scales(self._combine, self._weights)
        return [share / divisor if divisor else 0.0 for divisor, share in zip(self._divisors, factors, strict=True)]

    def loss_of_rows(
        self,
        codes: NDArray[np.int32],
        counts: NDArray[np.int64],
        levels: NDArray[np.integer],
        suppressed: NDArray[np.int64],
    ) -> InformationLoss:
        """Return the loss of a local recoding, in which each row has levels of its own.

        Parameters
        ----------
        codes : int32, shape (m, P)
            Leaf codes of rows, which have the records of the table between them.
        counts : int64, shape (P,)
            Records of each.
        levels : int, shape (P, m)
        suppressed : int64
            Rows that are suppressed.
        """
        kept_rows = np.ones(counts.size, np.bool_)
        kept_rows[suppressed] = False
        losses = []
        for a, divisor in enumerate(self._divisors):
            if not divisor:
                losses.append(0.0)
                continue
            of_row = levels[:, a], codes[a]
            kept = float((self._kept[a][of_row] * counts)[kept_rows].sum())
            gone = float((self._suppressed[a][of_row] * counts)[~kept_rows].sum())
            losses.append((self._factor * kept + gone) / divisor)
        return aggregate(self._combine, losses, self._weights)

    def box_costs(self) -> LabelCosts:
        """See `Evaluator.box_costs`."""
        totals, more = [], []
        for a, divisor in enumerate(self._divisors):
            scale = 1.0 / divisor if divisor else 0.0
            present = self._present[a]
            suppressed = present.of(self._suppressed[a])
            least = np.minimum(self._factor * present.of(self._kept[a]), suppressed)
            totals.append(np.asarray(scale * (least * present.records).sum(axis=1), np.float64))
            more.append(by_label(self._rows.hierarchies[a], scale * (suppressed - least), present.leaves))
        return LabelCosts(totals, more, self._combine, self._weights)

    def _total(self, parts: Sequence[_Part], suppressed: NDArray[np.int64]) -> InformationLoss:
        losses = [
            part.cost(present.codes, self._rows.counts, suppressed) / divisor if divisor else 0.0
            for part, present, divisor in zip(parts, self._present, self._divisors, strict=True)
        ]
        return aggregate(self._combine, losses, self._weights)

    def _exact(self, a: int, level: int) -> _Part:
        """Costs at one level."""
        key = (a, level, -1)
        found = self._cache.get(key)
        if found is None:
            present = self._present[a]
            kept, suppressed = present.of(self._kept[a][level]), present.of(self._suppressed[a][level])
            found = self._cache[key] = self._part(a, self._factor, kept, suppressed)
        return found

    def _least(self, a: int, low: int, high: int) -> _Part:
        """Lower limits of the cost of a record at any level from `low` to `high`, kept or suppressed."""
        key = (a, low, high)
        found = self._cache.get(key)
        if found is None:
            present = self._present[a]
            suppressed = present.of(self._suppressed[a][low : high + 1]).min(axis=0)
            factor, kept = self._factor, present.of(self._kept[a][low])
            if (factor * kept > suppressed).any():
                # suppressing is cheaper than keeping: a record may cost no more than the cheapest one
                factor, kept = float(min((factor * kept).min(), suppressed.min())), np.ones_like(kept)
            found = self._cache[key] = self._part(a, factor, kept, suppressed)
        return found

    def _least_loss(self, a: int, low: int, high: int) -> float:
        """Return the loss of an attribute by these costs, with no record suppressed."""
        known = self._least_losses[a]
        found = known.get((low, high))
        if found is None:
            divisor = self._divisors[a]
            part = self._least(a, low, high)
            found = known[low, high] = part.factor * part.total / divisor if divisor else 0.0
        return found

    def _part(self, a: int, factor: float, kept: Cost, suppressed: Cost) -> _Part:
        return _Part(factor, kept, suppressed, float((kept * self._present[a].records).sum()))
