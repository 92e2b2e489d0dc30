"""k-map: every released record shares its quasi-identifiers with at least k people of a population.

Sweeney, Computational disclosure control. PhD thesis, MIT, 2001; El Emam, Dankar, Protecting privacy using k-anonymity.
JAMIA 15(5), 2008. The population is a table of its own (`population`), or the source, of which a research subset is
released (`subset`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement
from engine.spec import MOST_RECORDS, FileName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class KMap(PrivacyModel):
    """Classes hold at least `k` records of the population."""

    observes_records: ClassVar[bool] = True

    model: Literal["k-map"] = "k-map"
    k: int = Field(
        ge=2, le=MOST_RECORDS, strict=True, description="Smallest number of people in an equivalence class, at least 2."
    )
    population: FileName | None = Field(
        default=None, description="A .csv or .parquet file with the quasi-identifiers of every person."
    )
    subset: FileName | None = Field(
        default=None, description="A .csv or .parquet file with the source's records that are released."
    )

    @model_validator(mode="after")
    def _one_population(self) -> Self:
        if (self.population is None) == (self.subset is None):
            raise ValueError("k-map needs either population, a file of people, or subset, a file of released records")
        return self

    @property
    def monotonicity(self) -> Monotonicity:
        """A class only grows when it is generalized, in the population too."""
        return Monotonicity.WITH_SUPPRESSION

    @property
    def least_people(self) -> int:
        """`k` people."""
        return self.k

    @property
    def demands_people_alone(self) -> bool:
        """Nothing but `k` people is demanded."""
        return True

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes with fewer than `k` records of the population."""
        return partition.population < self.k

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the records of the population in the kept class that has fewest."""
        counts = partition.population[kept]
        return float(counts.min()) if counts.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At least `k` people in the smallest class."""
        del observed
        return Requirement(float(self.k), "at-least")

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.k}-map"
