"""Loss: the share of the domain that a released value may stand for, averaged over records.

Iyengar, Transforming data to satisfy privacy constraints. KDD 2002, section 3; normalized as in the definitions:
`max(0, (A - g n / D) / (n - g n / D))` with `A` the summed shares of the records and D the rows of the hierarchy.
A kept record adds `g share`, a suppressed one `share + s (1 - share)`. Both are counted in rows of the hierarchy
(shares times D) and less the `g` of a leaf, so that they are at least 0 and the loss is their sum over `n (D - g)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from engine.utility.measure import Evaluator, Measure, Reads, Rows


class Loss(Measure):
    """Granularity lost, 0 (nothing generalized) to 1 (nothing left)."""

    title: ClassVar[str] = "Loss"
    meaning: ClassVar[str] = "0 as the source, 1 nothing left"
    is_share: ClassVar[bool] = True
    reads: ClassVar[Reads] = "domains"
    sums_records: ClassVar[bool] = True

    measure: Literal["loss"] = "loss"

    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """See `Measure.evaluator`."""
        from engine.utility.additive import AdditiveEvaluator  # noqa: PLC0415 (job files parse without numpy)

        g, s = self.generalization_factor, self.suppression_factor
        domains = [hierarchy.domain_size for hierarchy in rows.hierarchies]
        leaves = [hierarchy.leaf_rows() for hierarchy in rows.hierarchies]
        return AdditiveEvaluator(
            rows,
            factor=g,
            kept=[below - 1.0 for below in leaves],
            # (below + s (size - below)) - g, rearranged to avoid cancellation
            suppressed=[
                (below - 1.0) + (1.0 - g) + s * (size - below) for below, size in zip(leaves, domains, strict=True)
            ],
            divisors=[rows.records * (size - g) if size > 1 else 0.0 for size in domains],
            combine=self.aggregate,
            weights=weights,
            orders_classes=True,
        )
