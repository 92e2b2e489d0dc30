"""k-anonymity: every record shares its quasi-identifiers with at least k - 1 others.

Sweeney, k-anonymity: a model for protecting privacy. Int J Uncertain Fuzz 10(5), 2002, section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement
from engine.spec import MOST_RECORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class KAnonymity(PrivacyModel):
    """Classes hold at least `k` records."""

    observes_records: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    model: Literal["k-anonymity"] = "k-anonymity"
    k: int = Field(ge=2, le=MOST_RECORDS, description="Smallest number of records in an equivalence class, at least 2.")

    @property
    def monotonicity(self) -> Monotonicity:
        """A class only grows when it is generalized."""
        return Monotonicity.WITH_SUPPRESSION

    @property
    def minimum_class_size(self) -> int:
        """`k` itself."""
        return self.k

    def is_sized(self, *, suppressing: bool) -> bool:
        """See `PrivacyModel.is_sized`."""
        del suppressing
        return True

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes below `k` records."""
        return partition.counts < self.k

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the records in the smallest kept class."""
        counts = partition.counts[kept]
        return float(counts.min()) if counts.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At least `k` records in the smallest class."""
        del observed
        return Requirement(float(self.k), "at-least")

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.k}-anonymity"
