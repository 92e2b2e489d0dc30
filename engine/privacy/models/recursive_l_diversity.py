"""Recursive (c,l)-diversity: the most frequent sensitive value of a class is not too frequent.

Machanavajjhala et al., l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, definition 4.2: with the counts in
descending order, r1 < c (r_l + ... + r_m), strictly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.privacy.diversity import DiversityModel
from engine.privacy.lack import Lack
from engine.privacy.model import ClassHistogram, Monotonicity, Partition
from engine.privacy.requirement import Requirement
from engine.spec import MOST_RECORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RecursiveLDiversity(DiversityModel):
    """In each class the most frequent value of `attribute` is rarer than `c` times the l-th and all rarer ones."""

    model: Literal["l-diversity"] = "l-diversity"
    variant: Literal["recursive"] = Field(description="How values are counted: recursive.")
    c: float = Field(gt=0, strict=True, description="Factor, above 0.")
    l: int = Field(ge=2, le=MOST_RECORDS, strict=True, description="Rank from which values count as rare, at least 2.")  # noqa: E741 (the model's own name)

    @property
    def monotonicity(self) -> Monotonicity:
        """A union of classes that satisfy it satisfies it."""
        return Monotonicity.GENERALIZATION_ONLY

    @property
    def minimum_class_size(self) -> int:
        """`l` records are needed to have an l-th value."""
        return self.l

    @property
    def _none(self) -> float | None:
        """No ratio."""
        return None

    def _violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes in which the most frequent value is too frequent."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        largest, tail = self._extremes(partition)
        # a ratio is rounded once, so that one of exactly c is c; the product with a tail may be rounded up
        with np.errstate(divide="ignore"):
            return ~(largest / tail < self.c)

    def surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        """Classes with fewer than `l` values: no part of them has an l-th one."""
        if not suppressing:
            return self.violated(partition)
        return self._judged(partition, lambda known: known.distinct(self.attribute) < self.l)

    @property
    def looks_inside(self) -> bool:
        """See `PrivacyModel.looks_inside`."""
        return True

    def most_kept(self, partition: Partition, least: int) -> NDArray[np.int64]:
        """See `PrivacyModel.most_kept`: a union of classes that satisfy it satisfies it."""
        return self._kept_of_known(partition, least, self._most_kept)

    def _most_kept(self, partition: Partition) -> NDArray[np.int64]:
        from engine.kernels.capped_parts import largest_recursive_parts  # noqa: PLC0415

        histogram = partition.histogram(self.attribute)
        return largest_recursive_parts(histogram.offsets, histogram.counts, self._rank(histogram), self.c)

    def _observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the largest ratio r1 / (r_l + ... + r_m) of a kept class; below `c` where the model holds."""
        largest, tail = self._extremes(partition)
        largest, tail = largest[kept], tail[kept]
        return float((largest / tail).max()) if largest.size and tail.min() > 0 else None

    def lack(self, attribute: ClassHistogram) -> Lack:
        """See `PrivacyModel.lack`: values, in shares that are not worse than those of the table."""
        return super().lack(attribute)._replace(distinct=self.l)

    def requirement(self, observed: float | None) -> Requirement:
        """At most `c` as the largest ratio; one of exactly `c` does not hold."""
        del observed
        return Requirement(self.c, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"recursive ({self.c:g},{self.l}){self._of()}"

    def _extremes(self, partition: Partition) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        from engine.kernels.diversity import largest_and_tail  # noqa: PLC0415 (job files parse without numba)

        histogram = partition.histogram(self.attribute)
        return largest_and_tail(histogram.offsets, histogram.counts, self._rank(histogram))

    def _rank(self, histogram: ClassHistogram) -> int:
        """Return `l`, or a number of values that no class has: the kernels' memory grows with it."""
        return min(self.l, histogram.counts.size + 1)
