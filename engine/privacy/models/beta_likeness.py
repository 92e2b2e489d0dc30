"""beta-likeness: no sensitive value gains much frequency in a class over the table.

Cao, Karras, Publishing microdata with a robust privacy guarantee. PVLDB 5(11), 2012, definitions 2 and 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class BetaLikeness(PrivacyModel):
    """In each class `(p - q) / q <= beta`; enhanced: `<= min(beta, -ln q)`."""

    compares_with_table: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    model: Literal["beta-likeness"] = "beta-likeness"
    variant: Literal["basic", "enhanced"] = Field(description="Enhanced bounds frequent values more tightly.")
    attribute: str = Field(description="The sensitive attribute.")
    beta: float = Field(gt=0, strict=True, description="Largest relative gain, above 0.")

    @property
    def monotonicity(self) -> Monotonicity:
        """A union's share of a value is at most the largest of its parts."""
        return Monotonicity.GENERALIZATION_ONLY

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes in which a value gains too much."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        gain, table, starts = self._gains(partition)
        fails: NDArray[np.bool_] = np.logical_or.reduceat(~(gain <= self._bounds(table)), starts)
        return fails

    @property
    def looks_inside(self) -> bool:
        """See `PrivacyModel.looks_inside`."""
        return True

    def most_kept(self, partition: Partition, least: int) -> NDArray[np.int64]:
        """See `PrivacyModel.most_kept`: no value of a union gains more than it does in some part."""
        import numpy as np  # noqa: PLC0415

        from engine.kernels.capped_parts import largest_parts_of_shares  # noqa: PLC0415 (job files parse without numba)

        histogram = partition.histogram(self.attribute)
        # a value that no record has is in no class
        table = np.maximum(histogram.totals, 1) / histogram.totals.sum()
        shares = table * (1.0 + self._bounds(table))
        return largest_parts_of_shares(histogram.offsets, histogram.values, histogram.counts, shares, least)

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the largest gain in a kept class."""
        import numpy as np  # noqa: PLC0415

        gain, _, starts = self._gains(partition)
        largest = np.maximum.reduceat(gain, starts)[kept]
        return float(largest.max()) if largest.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At most `beta` as the largest gain.

        The enhanced variant bounds frequent values more tightly; the figure does not include these bounds, so the true
        margin may be smaller.
        """
        del observed
        return Requirement(self.beta, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.variant} {self.beta:g}-likeness of {self.attribute}"

    def _bounds(self, table: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the largest gain of values with these shares of the table."""
        import numpy as np  # noqa: PLC0415

        return np.minimum(self.beta, -np.log(table)) if self.variant == "enhanced" else self.beta

    def _gains(self, partition: Partition) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the relative gain of each value of each class, its share in the table, and where classes start."""
        import numpy as np  # noqa: PLC0415

        histogram = partition.histogram(self.attribute)
        totals, records = histogram.totals[histogram.values].astype(np.float64), float(histogram.totals.sum())
        # with shares f/c and F/n the gain is (f n - F c) / (F c): whole numbers, one division, so that beta is met
        expected = totals * np.repeat(partition.counts, np.diff(histogram.offsets))
        return (histogram.counts * records - expected) / expected, totals / records, histogram.offsets[:-1]
