"""Non-uniform entropy: the bits of information about the original value that the released value lacks.

Gionis, Tassa, k-anonymization with minimal loss of information. TKDE 21(2), 2009, section 3. Generalization costs
`-g log2(count(v) / count(gen(v)))` per record, counted over all records before suppression; the suppressed records cost
`-s log2` of the share of their generalized value among the suppressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.lattice.space import Levels
from engine.utility.aggregate import AggregateName, aggregate
from engine.utility.information_loss import InformationLoss
from engine.utility.measure import Evaluator, Measure, RowClasses, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.utility.bounds.box_costs import BoxCosts


class NonUniformEntropy(Measure):
    """Bits lost, summed over records, aggregated over attributes."""

    title: ClassVar[str] = "Non-uniform entropy"
    meaning: ClassVar[str] = "information lost, in bits"
    sums_records: ClassVar[bool] = True

    measure: Literal["non-uniform-entropy"] = "non-uniform-entropy"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        return _Entropy(rows, self.generalization_factor, self.suppression_factor, self.aggregate, weights)


class _Entropy:
    def __init__(self, rows: Rows, g: float, s: float, combine: AggregateName, weights: Sequence[float]) -> None:
        self._rows = rows
        self._s = s
        self._combine: AggregateName = combine
        self._weights = weights
        self._generalization = [_open_bits(rows, a, g) for a in range(len(rows.hierarchies))]

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> InformationLoss:
        del classes
        losses = [self._generalization[a][level] for a, level in enumerate(levels)]
        if suppressed.size and self._s:
            losses = [loss + self._s * self._bits(a, levels[a], suppressed) for a, loss in enumerate(losses)]
        return aggregate(self._combine, losses, self._weights)

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> InformationLoss:
        del high, suppressed
        return aggregate(self._combine, [self._generalization[a][level] for a, level in enumerate(low)], self._weights)

    def box_costs(self) -> BoxCosts:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        from engine.utility.bounds.label_costs import EntropyCosts  # noqa: PLC0415

        return EntropyCosts([np.array(bits) for bits in self._generalization], self._s, self._combine, self._weights)

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        del levels, classes
        return None

    def _bits(self, a: int, level: int, suppressed: NDArray[np.int64]) -> float:
        """Entropy of the generalized values of the suppressed records, times their number."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        codes = self._rows.hierarchies[a].codes[level][self._rows.codes[a, suppressed]]
        counts = np.bincount(codes, weights=self._rows.counts[suppressed])
        counts = counts[counts > 0]
        return float(-(counts @ np.log2(counts / counts.sum())))


def _open_bits(rows: Rows, a: int, g: float) -> list[float]:
    """Bits lost by generalization alone at each level."""
    import numpy as np  # noqa: PLC0415

    codes = rows.hierarchies[a].codes
    leaves = np.bincount(rows.codes[a], weights=rows.counts, minlength=codes.shape[1])
    present = leaves > 0
    bits = []
    for level in codes:
        labels = np.bincount(level, weights=leaves)
        bits.append(g * float(leaves[present] @ np.log2(labels[level[present]] / leaves[present])))
    return bits
