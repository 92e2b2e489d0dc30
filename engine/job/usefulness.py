"""A job that measures what its release is still good for: the setting, and what does not go with it.

In: a job. Out: nothing, or why it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field, field_validator, model_validator
from typing_extensions import Self

from engine.spec import Spec


class UsefulnessSettings(Spec):
    """What of the source is found again in the release: measured in the run, told in the report and on the page."""

    targets: tuple[str, ...] = Field(
        default=(),
        description="Sensitive or insensitive columns that models predict by the quasi-identifiers, trained once on "
        "the source and once on the release. Needs the extra 'usefulness'.",
    )
    columns: tuple[str, ...] = Field(
        default=(),
        description="Columns whose distribution and means are compared before and after.",
    )
    folds: int = Field(default=5, ge=2, le=20, strict=True, description="Folds of the cross-validation.")
    records: int = Field(
        default=10_000,
        ge=200,
        le=1_000_000,
        strict=True,
        description="Records that the models see at most, drawn at random: with subject one of each person.",
    )

    @field_validator("targets", "columns")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) != len(names):
            raise ValueError("names a column twice; remove one")
        return names

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.targets and not self.columns:
            raise ValueError("name at least one column under targets or columns, or take usefulness out")
        return self


def check_usefulness(job: Any) -> None:
    """Refuse what a `Job` with usefulness must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.usefulness is None:
        return
    beside = {
        "tables": job.tables is not None,
        "series, whose nights would be compared": job.series is not None,
        "backend: sql, where no record leaves the warehouse": job.backend == "sql",
    }
    named = [one for one, there in beside.items() if there]
    if named:
        raise ValueError(f"usefulness: does not go with {'; '.join(named)}; take usefulness out")
    unfit = next(_unfit(job), None)
    if unfit is not None:
        raise ValueError(unfit)


def _unfit(job: Any) -> Iterator[str]:
    """Yield why a column cannot be compared."""
    changed = {*job.shifted, *job.grouped, *job.perturbed}
    unchanged = [name for name in (*job.sensitive, *_insensitive(job)) if name not in changed]
    for position, name in enumerate(job.usefulness.targets):
        if name not in unchanged:
            yield (
                f"usefulness.targets.{position}: {name!r} must be a column whose values stay as they are, with role "
                f"sensitive or insensitive; such are {unchanged}"
            )
    comparable = [*job.quasi_identifiers, *unchanged]
    for position, name in enumerate(job.usefulness.columns):
        if name in job.aggregated:
            yield (
                f"usefulness.columns.{position}: {name!r} is aggregated within each class (microaggregation), of which "
                "no distribution is compared; take it out"
            )
        if name not in comparable:
            yield f"usefulness.columns.{position}: {name!r} must be a released column; such are {comparable}"


def _insensitive(job: Any) -> list[str]:
    return [name for name, attribute in job.attributes.items() if attribute.role == "insensitive"]
