"""How a job's report states the risk of a release."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from typing_extensions import Self

from engine.spec import FileName, Spec


class Risk(Spec):
    """How the report states the risk of a release; it has no effect on the release."""

    threshold: float = Field(
        default=0.09,
        gt=0,
        le=1,
        strict=True,
        description="Records are at risk at or above this probability of being found.",
    )
    population: FileName | None = Field(
        default=None, description="A .csv or .parquet file with the quasi-identifiers of every person."
    )
    sampling_fraction: float | None = Field(
        default=None,
        gt=0,
        le=1,
        strict=True,
        description="Share of the population that is in the table of the source, if known.",
    )

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self.model_copy(update={"population": self.population and str(base / self.population)})
