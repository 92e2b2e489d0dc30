"""l-diversity: every equivalence class holds at least l well represented sensitive values.

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007,
section 4. The distinct variant counts values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.privacy.diversity import DiversityModel
from engine.privacy.lack import Lack
from engine.privacy.model import ClassHistogram, DistinctValues, Monotonicity, Partition
from engine.privacy.requirement import Requirement
from engine.spec import MOST_RECORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LDiversity(DiversityModel):
    """Classes hold at least `l` distinct values of `attribute`."""

    model: Literal["l-diversity"] = "l-diversity"
    variant: Literal["distinct"] = Field(description="How values are counted: distinct.")
    l: int = Field(  # noqa: E741 (the model's own name)
        ge=2,
        le=MOST_RECORDS,
        strict=True,
        description="Smallest number of distinct sensitive values in a class, at least 2.",
    )

    @property
    def monotonicity(self) -> Monotonicity:
        """A class only gains values when it is generalized."""
        return Monotonicity.WITH_SUPPRESSION

    @property
    def distinct_values(self) -> DistinctValues:
        """`l` values are all it demands."""
        return DistinctValues(self.attribute, self.l, self.missing == "value")

    @property
    def minimum_class_size(self) -> int:
        """`l` records are needed to hold `l` values."""
        return self.l

    def _violated(self, partition: Partition) -> NDArray[np.bool_]:
        return partition.distinct(self.attribute) < self.l

    def _observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the distinct values in the least diverse kept class."""
        values = partition.distinct(self.attribute)[kept]
        return float(values.min()) if values.size else None

    def lack(self, attribute: ClassHistogram) -> Lack:
        """See `PrivacyModel.lack`: values, whatever their shares."""
        return super().lack(attribute)._replace(distinct=self.l, allowed=1.0)

    def requirement(self, observed: float | None) -> Requirement:
        """At least `l` values in the least diverse class."""
        del observed
        return Requirement(float(self.l), "at-least")

    def describe(self) -> str:
        """Render for a person."""
        return f"distinct {self.l}{self._of()}"
