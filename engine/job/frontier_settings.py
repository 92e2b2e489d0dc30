"""The keys of a job file about risk-utility frontiers: how to search for one, and which policy to choose from it.

This module imports no array packages: schedulers read job files.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_serializer, model_validator
from typing_extensions import Self

from engine.job.frontier_measures import USUAL_RISK, USUAL_UTILITY, RiskName, UtilityName
from engine.spec import MOST_RECORDS, FileName, Spec

COMPUTED = "frontier"
"""The value of `choose.from` if the run itself computes the frontier."""

Kind = Literal["zip", "age", "date", "kept"]


def _distinct(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(sizes)) < len(sizes):
        raise ValueError("a class size is listed twice; remove one")
    return sizes


class PopulationQuery(Spec):
    """A population in a database: the quasi-identifiers, and a column `persons` with the number of people per row."""

    conn_id: str = Field(description="Airflow connection of the database.")
    table: str | None = Field(default=None, description="Table or view, with its schema if it has one: census.people.")
    query: str | None = Field(default=None, description="One SELECT statement instead of a table.")

    @model_validator(mode="after")
    def _one_relation(self) -> Self:
        if (self.table is None) == (self.query is None):
            raise ValueError("needs either a table or a query")
        return self


class FrontierSettings(Spec):
    """How a risk-utility frontier is searched for, and what it is compared with."""

    population: FileName | PopulationQuery | None = Field(
        default=None,
        description="The quasi-identifiers of every person: a .csv or .parquet file, or a table or query of a "
        "connection, which Airflow's tasks read.",
    )
    initialization: Literal["full-domain", "random-path", "greedy-path"] = Field(
        default="full-domain", description="Where the search begins."
    )
    improvement: Literal["sublattice-chain", "random-sublattice", "none"] = Field(
        default="sublattice-chain", description="How the first frontier is improved."
    )
    policies: int = Field(
        default=20_000, ge=2, strict=True, description="Policies whose risk and utility are computed."
    )
    seconds: float | None = Field(
        default=None, gt=0, strict=True, description="Stop after this time with the frontier so far."
    )
    seed: int = Field(default=1, ge=0, strict=True, description="The same seed finds the same frontier.")
    risk: RiskName = Field(default=USUAL_RISK, description="The risk of a policy.")
    utility: UtilityName = Field(default=USUAL_UTILITY, description="The utility loss of a policy.")
    threshold: float = Field(
        default=0.05,
        ge=0,
        le=1,
        strict=True,
        description="A sublattice is searched if more than this share of its rectangle is not dominated.",
    )
    k_anonymity: Annotated[
        tuple[Annotated[int, Field(ge=2, le=MOST_RECORDS, strict=True)], ...], AfterValidator(_distinct)
    ] = Field(
        default=(5, 10),
        description="Class sizes k; also find the frontier of full-domain k-anonymity for each.",
    )
    safe_harbor: Annotated[bool, Field(strict=True)] | dict[str, Kind] = Field(
        default=True,
        description="Whether to compare with Safe Harbor; or the kind of each quasi-identifying column, if its "
        "hierarchy does not show it.",
    )
    ages_on: dt.date | None = Field(
        default=None,
        description="The day on which a year that Safe Harbor keeps must tell no age over 89; the day of the run if "
        "absent.",
    )
    current: FileName | None = Field(default=None, description="A policy file: the current policy.")

    def resolved(self, base: Path) -> Self:
        """Make the paths absolute."""
        file = self.population if isinstance(self.population, str) else None
        return self.model_copy(
            update={
                "population": str(base / file) if file else self.population,
                "current": self.current and str(base / self.current),
            }
        )


class Rule(Spec):
    """A rule that chooses a policy of a frontier: of all that meet it, the one with the least utility loss."""

    source: FileName = Field(
        alias="from", description="'frontier': the run computes the frontier; or the report file of an earlier one."
    )
    dominates: Literal["safe-harbor"] | None = Field(
        default=None, description="Only policies of less risk and less utility loss than this one."
    )
    maximum_risk: float | None = Field(
        default=None, ge=0, le=1, strict=True, description="Only policies of at most this risk, by frontier.risk."
    )

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.dominates is None and self.maximum_risk is None:
            raise ValueError("names no rule, so nothing would be generalized; add dominates, maximum_risk or both")
        return self

    @model_serializer
    def _as_written(self) -> dict[str, Any]:
        figures = {"from": self.source, "dominates": self.dominates, "maximum_risk": self.maximum_risk}
        return {key: value for key, value in figures.items() if value is not None}

    @property
    def report(self) -> str | None:
        """Path of the report of an earlier frontier; None if the run computes it."""
        return None if self.source == COMPUTED else self.source

    def describe(self) -> str:
        """Say the rule in words."""
        rules = [] if self.dominates is None else ["strictly dominates Safe Harbor"]
        rules += [] if self.maximum_risk is None else [f"has a risk of at most {self.maximum_risk:g}"]
        return " and ".join(rules)

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self if self.report is None else self.model_copy(update={"source": str(base / self.source)})
