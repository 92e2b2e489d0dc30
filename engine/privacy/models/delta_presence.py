"""delta-presence: a release does not reveal whether a person of the population is in the research subset.

Nergiz, Atzori, Clifton, Hiding the presence of individuals from shared databases. SIGMOD 2007, section 3. The source is
the population; the subset is released. The share of a class is the probability of each of its people to be in the
subset where everybody has the labels of one class: there, with equal levels for all. Classes of a local recoding whose
labels overlap do not hold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement
from engine.spec import FileName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DeltaPresence(PrivacyModel):
    """In each class the subset is a share from `delta_min` to `delta_max` of the population."""

    model: Literal["delta-presence"] = "delta-presence"
    delta_min: float = Field(ge=0, le=1, strict=True, description="Lowest share of released records, 0 to 1.")
    delta_max: float = Field(ge=0, le=1, strict=True, description="Highest share of released records, 0 to 1.")
    subset: FileName = Field(description="A .csv or .parquet file with the source's records that are released.")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.delta_min > self.delta_max:
            raise ValueError(f"delta_min {self.delta_min:g} is above delta_max {self.delta_max:g}; swap them")
        return self

    @property
    def refuses_empty_classes(self) -> bool:
        """A class without a record of the subset would reveal that none of its people is in the subset."""
        return self.delta_min > 0

    @property
    def least_people(self) -> int:
        """So many that one record is no larger share of them than `delta_max`; 1 where no share is small enough."""
        if self.delta_max == 0:
            return 1
        # the quotient may be rounded: one people fewer may do
        people = max(1, math.floor(1 / self.delta_max) - 1)
        while 1 / people > self.delta_max:
            people += 1
        return people

    @property
    def monotonicity(self) -> Monotonicity:
        """The share of a union lies between the shares of its parts."""
        return Monotonicity.GENERALIZATION_ONLY

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes with too small or too large a share, or with people who may be in another class as well."""
        shares = self._shares(partition)
        return ~((self.delta_min <= shares) & (shares <= self.delta_max)) | partition.overlapping

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the kept classes' share furthest outside the range, or else nearest to its ends.

        A `delta_min` of 0 does not count as an end: no share can be below it.
        """
        shares = self._shares(partition)[kept]
        if not shares.size:
            return None
        lowest, highest = float(shares.min()), float(shares.max())
        return lowest if self._is_nearer_to_minimum(lowest, highest) else highest

    def requirement(self, observed: float | None) -> Requirement:
        """At least `delta_min` or at most `delta_max`: the end that the observed share is nearer to.

        That is the end by which the share was chosen: if the lowest share is nearer to `delta_min` than the highest is
        to `delta_max`, it is nearer to `delta_min` than to `delta_max` itself, and vice versa.
        """
        if observed is not None and self._is_nearer_to_minimum(observed, observed):
            return Requirement(self.delta_min, "at-least")
        return Requirement(self.delta_max, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"({self.delta_min:g}, {self.delta_max:g})-presence"

    def _is_nearer_to_minimum(self, lowest: float, highest: float) -> bool:
        return self.delta_min > 0 and lowest - self.delta_min < self.delta_max - highest

    def _shares(self, partition: Partition) -> NDArray[np.float64]:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        # records may be in a class that has nobody of the population
        with np.errstate(divide="ignore"):
            shares: NDArray[np.float64] = partition.counts / partition.population
        return shares
