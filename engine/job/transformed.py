"""A job that codes or aggregates the values of single columns: its settings, and what does not go with them.

In: a job. Out: nothing, or why it is refused. What each does to the models is in docs/transformations.md; what is not
known to keep their guarantee is refused.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, StrictFloat, StrictInt, model_validator
from typing_extensions import Self

from engine.job.perturbed import refuse_named_by_models
from engine.privacy.models.population_uniqueness import PopulationUniqueness
from engine.spec import Spec

Aggregate = Literal["mean", "median", "mode", "interval", "mdav"]
GROUPED = "mdav"
"""The mean of a group of alike records within a class; the others are of the whole class."""
OF_NUMBERS: tuple[Aggregate, ...] = ("mean", "median", "interval", "mdav")
"""Aggregates that only numbers have."""
FEWEST = 3
"""Records of a class from which on its members do not learn each other's values from a mean: of two, both do."""

Number = StrictInt | StrictFloat


class Coding(Spec):
    """How the numbers of a column are coded, each record by itself, before anything is counted."""

    bottom: Number | None = Field(
        default=None, description="Bottom coding: smaller values become this one, which means: or less."
    )
    top: Number | None = Field(
        default=None, description="Top coding: larger values become this one, which means: or more."
    )
    round_to: Number | None = Field(
        default=None,
        gt=0,
        description="Rounding between bottom and top, and to them at most: to the nearest multiple of this; from the "
        "middle to the even one.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.bottom is None and self.top is None and self.round_to is None:
            raise ValueError("name at least one of bottom, top, round_to")
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise ValueError(f"bottom: is {self.bottom}, and must be below top, which is {self.top}")
        return self


def check_transformed(job: Any) -> None:
    """Refuse what a `Job` must not say beside coded or aggregated columns.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    for name in job.coded:
        _refuse_together(job, name, "coding")
    for name in job.aggregated:
        _refuse_together(job, name, "microaggregation")
        _check_aggregated(job, name)


def _refuse_together(job: Any, name: str, key: str) -> None:
    beside = {"tables": job.tables is not None, "series": job.series is not None, "a subset": job.subset is not None}
    named = [one for one, there in beside.items() if there]
    if named:
        raise ValueError(
            f"attributes.{name}.{key}: does not go with {' and '.join(named)}; take it out, or do it in the query of "
            "the source"
        )


def _check_aggregated(job: Any, name: str) -> None:
    key = f"attributes.{name}.microaggregation"
    if job.subject is not None:
        raise ValueError(
            f"{key}: does not go with subject: the aggregate of a class may be of the rows of few persons, and says "
            "more from night to night; give the column a hierarchy instead, or count records (unit: record)"
        )
    if name in job.grouped:
        refuse_named_by_models(job, name, key, "means of groups, of which several may be near one value")
    # a column that is grouped is known to nobody, by its role
    beside = [] if name in job.grouped else _people_beside(job)
    if beside:
        raise ValueError(
            f"{key}: does not go with {', '.join(beside)}: of the people of a class, an aggregate rules out those "
            "whose own value it does not fit, so that fewer are left than the labels tell; take it out, or give the "
            "column a hierarchy instead"
        )
    if job.minimum_class_size < FEWEST:
        raise ValueError(
            f"{key}: the models allow classes of {job.minimum_class_size} records, and an aggregate of so few tells "
            f"their values; add k-anonymity with k of at least {FEWEST} to privacy"
        )


def _people_beside(job: Any) -> list[str]:
    """Name what compares a class with the people of a population."""
    beside = [
        f"privacy.{position}: {model.model}"
        for position, model in enumerate(job.privacy)
        if model.population_file is not None or isinstance(model, PopulationUniqueness)
    ]
    return [*beside, *(["risk.population"] if job.risk.population is not None else [])]
