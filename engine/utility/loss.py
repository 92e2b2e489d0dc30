"""Loss: the share of the domain that a released value may stand for, averaged over records.

Iyengar, Transforming data to satisfy privacy constraints. KDD 2002, section 3; normalized as in the definitions:
`max(0, (A - g n / D) / (n - g n / D))` with `A` the summed shares of the records and D the rows of the hierarchy.
Costs are kept in rows of the hierarchy (shares times D), so that sums of whole numbers stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.utility.measure import Evaluator, Measure, Rows


class Loss(Measure):
    """Granularity lost, 0 (nothing generalized) to 1 (nothing left)."""

    measure: Literal["loss"] = "loss"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        from engine.utility.additive import AdditiveEvaluator  # noqa: PLC0415 (job files parse without numpy)

        g, s = self.generalization_factor, self.suppression_factor
        domains = [hierarchy.domain_size for hierarchy in rows.hierarchies]
        shares = [hierarchy.leaf_rows() for hierarchy in rows.hierarchies]

        def normalize(a: int, cost: float) -> float:
            least = g * rows.records
            most = float(rows.records) * domains[a]
            return max(0.0, (cost - least) / (most - least)) if domains[a] > 1 else 0.0

        return AdditiveEvaluator(
            rows,
            kept=[g * share for share in shares],
            suppressed=[g * share + s * (size - share) for share, size in zip(shares, domains, strict=True)],
            normalize=normalize,
            combine=self.aggregate,
            weights=weights,
        )
