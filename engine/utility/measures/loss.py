"""Loss: the share of the domain that a released value may stand for, averaged over records.

Iyengar, Transforming data to satisfy privacy constraints. KDD 2002, section 3; normalized as in the definitions:
`max(0, (A - g n / D) / (n - g n / D))` with `A` the summed shares of the records and D the rows of the hierarchy.
A kept record adds `g share`, a suppressed one `share + s (1 - share)`. Both are counted in rows of the hierarchy
(shares times D) and less the `g` of a leaf, so that they are at least 0 and the loss is their sum over `n (D - g)`.
Of linked tables n is the number of records whose table has the column: cells that are not there lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from engine.utility.measure import Evaluator, Measure, Reads, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.hierarchy.hierarchy import Hierarchy


class Loss(Measure):
    """Granularity lost, 0 (nothing generalized) to 1 (nothing left)."""

    title: ClassVar[str] = "Loss"
    meaning: ClassVar[str] = "0 as the source, 1 nothing left"
    is_share: ClassVar[bool] = True
    reads: ClassVar[Reads] = "domains"
    sums_records: ClassVar[bool] = True
    knows_lacking: ClassVar[bool] = True
    sums_attributes: ClassVar[bool] = True

    measure: Literal["loss"] = "loss"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        from engine.utility.additive import AdditiveEvaluator  # noqa: PLC0415 (job files parse without numpy)

        g, s = self.generalization_factor, self.suppression_factor
        domains = [hierarchy.domain_size for hierarchy in rows.hierarchies]
        leaves = [hierarchy.leaf_rows() for hierarchy in rows.hierarchies]
        there = [1.0 - _lacking(hierarchy) for hierarchy in rows.hierarchies]
        return AdditiveEvaluator(
            rows,
            factor=g,
            kept=[is_cell * (below - 1.0) for below, is_cell in zip(leaves, there, strict=True)],
            # (below + s (size - below)) - g, rearranged to avoid cancellation
            suppressed=[
                is_cell * ((below - 1.0) + (1.0 - g) + s * (size - below))
                for below, size, is_cell in zip(leaves, domains, there, strict=True)
            ],
            divisors=[_cells(rows, a) * (size - g) if size > 1 else 0.0 for a, size in enumerate(domains)],
            combine=self.aggregate,
            weights=weights,
            orders_classes=True,
        )


def _lacking(hierarchy: Hierarchy) -> NDArray[np.float64]:
    """Return 1 for the leaf of cells that are not there and 0 for the others, shape (leaves,)."""
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    found = np.zeros(hierarchy.codes.shape[1])
    if hierarchy.lacking_code >= 0:
        found[hierarchy.lacking_code] = 1.0
    return found


def _cells(rows: Rows, a: int) -> int:
    """Return the number of records that have a cell of an attribute."""
    there = rows.codes[a] != rows.hierarchies[a].lacking_code
    return int(rows.counts[there].sum())
