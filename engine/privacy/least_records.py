"""What models have in common that ask for a number of records in each class, and for nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LeastRecords(PrivacyModel):
    """Classes hold at least `minimum_class_size` records, which the model says."""

    @property
    def monotonicity(self) -> Monotonicity:
        """A class only grows when it is generalized."""
        return Monotonicity.WITH_SUPPRESSION

    def is_sized(self, *, suppressing: bool) -> bool:
        """See `PrivacyModel.is_sized`."""
        del suppressing
        return True

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes below `minimum_class_size` records."""
        return partition.counts < self.minimum_class_size

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the records in the smallest kept class."""
        counts = partition.counts[kept]
        return float(counts.min()) if counts.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At least `minimum_class_size` records in the smallest class."""
        del observed
        return Requirement(float(self.minimum_class_size), "at-least")
