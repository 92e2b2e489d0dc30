"""delta-disclosure privacy: no sensitive value is much more or less frequent in a class than in the table.

Brickell, Shmatikov, The cost of privacy: destruction of data-mining utility in anonymized data publishing. KDD 2008,
definition 1. `strict` is this definition; without it, only the values in a class are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DeltaDisclosurePrivacy(PrivacyModel):
    """In each class `|log2(p / q)| < delta` for every value's share p in the class and q in the table."""

    compares_with_table: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    model: Literal["delta-disclosure-privacy"] = "delta-disclosure-privacy"
    attribute: str = Field(description="The sensitive attribute.")
    delta: float = Field(gt=0, strict=True, description="Bound on the logarithm of the ratio, above 0.")
    strict: bool = Field(default=False, strict=True, description="A class that lacks a value of the table fails too.")

    @property
    def monotonicity(self) -> Monotonicity:
        """Only the strict form is monotone: otherwise a union may dilute a value that one of its classes lacks."""
        return Monotonicity.GENERALIZATION_ONLY if self.strict else Monotonicity.NONE

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes with a value too frequent or too rare."""
        fails = ~(self._largest(partition) < self.delta)
        if self.strict:
            values = int((partition.histogram(self.attribute).totals > 0).sum())
            fails |= partition.distinct(self.attribute) < values
        return fails

    @property
    def looks_inside(self) -> bool:
        """See `PrivacyModel.looks_inside`."""
        return True

    def most_kept(self, partition: Partition, least: int) -> NDArray[np.int64]:
        """See `PrivacyModel.most_kept`: no value of a union is more frequent than in some part.

        It may be rarer, which is not looked at.
        """
        from engine.kernels.capped_parts import largest_parts_of_shares  # noqa: PLC0415 (job files parse without numba)

        histogram = partition.histogram(self.attribute)
        # no share is above 1: further powers of two only overflow
        shares = histogram.totals / histogram.totals.sum() * 2.0 ** min(self.delta, 1000.0)
        return largest_parts_of_shares(histogram.offsets, histogram.values, histogram.counts, shares, least)

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the largest logarithm of a kept class."""
        largest = self._largest(partition)[kept]
        return float(largest.max()) if largest.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At most `delta` as the largest logarithm; one of exactly `delta` does not hold."""
        del observed
        return Requirement(self.delta, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.delta:g}-disclosure privacy of {self.attribute}"

    def _largest(self, partition: Partition) -> NDArray[np.float64]:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        histogram = partition.histogram(self.attribute)
        # with shares f/c and F/n the ratio is f n / (F c): whole numbers, one division, so that a power of two is one
        expected = histogram.totals[histogram.values].astype(np.float64)
        expected *= np.repeat(partition.counts, np.diff(histogram.offsets))
        ratio = histogram.counts * float(histogram.totals.sum()) / expected
        largest: NDArray[np.float64] = np.maximum.reduceat(np.abs(np.log2(ratio)), histogram.offsets[:-1])
        return largest
