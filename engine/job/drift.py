"""The section `drift` of a job: how far tonight's table may be from that of the last release.

In: a job. Out: nothing, or why it is refused. docs/drift.md says what is compared with what.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from typing_extensions import Self

from engine.spec import FileName, Spec

QUARANTINE = "quarantine"


class DriftSettings(Spec):
    """A table that is not like that of the last release is refused."""

    facts: FileName = Field(
        description="Private file (mode 0600) with what is remembered of the table of the last release; made by the "
        "first one."
    )
    least_records: float = Field(
        default=0.5, ge=0, le=1, strict=True, description="Least records, as a share of those of the last release."
    )
    most_records: float = Field(
        default=2.0, ge=1, strict=True, description="Most records, as a multiple of those of the last release."
    )
    distance: float = Field(
        default=0.2,
        ge=0,
        le=1,
        strict=True,
        description="Most total variation distance between the values of a column then and now, 0 to 1: the share of "
        "records that would have to change.",
    )
    missing: float = Field(
        default=0.1, ge=0, le=1, strict=True, description="Most change of a column's share of missing values, 0 to 1."
    )
    new_values: dict[str, Literal["refuse", "quarantine"]] = Field(
        default_factory=dict,
        description="Columns in which a value that is not remembered matters: the run is refused, or the records that "
        "have one are left out.",
    )

    @property
    def quarantined(self) -> tuple[str, ...]:
        """Columns whose records with new values are left out."""
        return tuple(name for name, then in self.new_values.items() if then == QUARANTINE)

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self.model_copy(update={"facts": str(base / self.facts)})


def check_drift(job: Any) -> None:
    """Refuse what a `Job` that looks for drift must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.drift is None:
        return
    foreign = list(_foreign(job))
    if foreign:
        raise ValueError(f"{'; '.join(foreign)}: does not go with drift; take it out")
    if job.output is not None and any(folder in Path(job.drift.facts).parents for folder in job.output.folders):
        raise ValueError("drift.facts: must not be in the folder of the releases; name a private file outside of it")
    read = {model.sensitive_attribute for model in job.privacy} - {None}
    for name, then in job.drift.new_values.items():
        allowed = [*job.quasi_identifiers, *(sorted(read) if then != QUARANTINE else ())]
        if name not in allowed or job.attributes[name].is_shifted:
            which = "quasi-identifying" + ("" if then == QUARANTINE else ", or sensitive and in a privacy model")
            raise ValueError(f"drift.new_values: {name!r} must be a column that is {which}, and whose dates stay")


def _foreign(job: Any) -> Iterator[str]:
    """Name what makes tables of two nights incomparable, or what a quarantine cannot be recounted with."""
    if job.tables is not None:
        yield "tables"
    if job.choose is not None:
        yield "choose (its policy is another one each night)"
    if not job.drift.quarantined:
        return
    if job.suppress == "small-classes":
        yield "suppress: small-classes (a quarantine suppresses records of large classes too)"
    if job.subset is not None or job.population is not None or job.population_query is not None:
        yield "a subset or a population (beside a quarantine)"
