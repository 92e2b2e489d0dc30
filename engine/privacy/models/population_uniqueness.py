"""Population uniqueness: the estimated share of people who are alone with their quasi-identifiers in the population.

Dankar, El Emam, Neisa, Roffey, Estimating the re-identification risk of clinical data sets. BMC Med Inform Decis Mak
12:66, 2012. The table is a sample, of which only class sizes are used; the estimators are in `engine.risk`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.privacy.requirement import Requirement
from engine.privacy.table_wide import TableWideModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PopulationUniqueness(TableWideModel):
    """The estimated share of unique people is at most `threshold`; one that cannot be estimated does not hold."""

    model: Literal["population-uniqueness"] = "population-uniqueness"
    threshold: float = Field(ge=0, le=1, strict=True, description="Highest share of unique people, 0 to 1.")
    sampling_fraction: float = Field(
        gt=0, le=1, strict=True, description="Share of the population that is in the table, above 0, at most 1."
    )
    estimator: Literal["dankar", "pitman", "zayatz", "snb"] = Field(
        default="dankar", description="How the share is estimated; dankar chooses among the others."
    )

    def first_holding(self, sizes: NDArray[np.int64], start: int, stop: int, records: int) -> int:
        """See `TableWideModel.first_holding`."""
        for gone in range(start, stop + 1):
            share = self._estimate(sizes[gone:], records)
            if share is None or share <= self.threshold:
                return gone
        return stop + 1

    def figure(self, sizes: NDArray[np.int64], records: int) -> float | None:
        """Return the estimated share; None where it cannot be estimated."""
        share = self._estimate(sizes, records)
        return share if share is not None and math.isfinite(share) else None

    def requirement(self, observed: float | None) -> Requirement:
        """At most the estimated share `threshold` of unique people."""
        del observed
        return Requirement(self.threshold, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"population uniqueness ({self.estimator}) of at most {self.threshold:g}"

    def _estimate(self, sizes: NDArray[np.int64], records: int) -> float | None:
        """Return the share, infinite where it cannot be estimated; None without any class."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        from engine.risk.population_uniqueness import estimate, kept_fraction  # noqa: PLC0415

        if not sizes.size:
            return None
        distinct, numbers = np.unique(sizes, return_counts=True)
        fraction = kept_fraction(int(sizes.sum()), records, self.sampling_fraction)
        return estimate(self.estimator, distinct, numbers, fraction)
