"""A job that counts persons: what its `subject` may be, and what does not go with it.

In: a job. Out: nothing, or why it is refused. What counts records only is refused by its name, so that no figure of
such a job is of records where persons are meant. So is what suppresses single records, or weighs classes, where persons
are suppressed with all of their records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from engine.search.registry import POLICY
from engine.spec import Spec
from engine.tables.known import MOST_KNOWN

_INSTEAD = "take it out, or count records with unit: record instead of subject"


class KnownRows(Spec):
    """An attacker who knows up to so many rows of a person."""

    rows: int = Field(ge=1, le=MOST_KNOWN, strict=True, description="Rows of a person that are known, 1 to 3.")

    def __str__(self) -> str:
        """Return it as a job file has it."""
        return f"{{rows: {self.rows}}}"


def check_subject(job: Any) -> None:
    """Refuse what a `Job` with, or without, a subject must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.subject is None:
        if job.knows is not None:
            raise ValueError("knows: says what is known of a person's rows; name the column of persons as subject")
        if job.max_rows is not None:
            raise ValueError("max_rows: is of a person's rows; name the column of persons as subject")
        return
    if job.subject not in job.identifying:
        raise ValueError(
            f"subject: {job.subject!r} must be a column with role identifying, which is not released; identifying are "
            f"{', '.join(map(repr, job.identifying)) or 'none'}"
        )
    if job.unit is not None:
        raise ValueError("subject and unit: persons are counted, or records; remove one")
    if not any(model.counts_persons and model.sensitive_attribute is None for model in job.privacy):
        raise ValueError("subject: needs k-anonymity, which says how many persons a class must have; add it to privacy")
    if job.backend == "duckdb" and job.series is not None:
        raise ValueError("series: backend duckdb does not count the persons of several nights; set backend: arrow")
    foreign = list(_counting_records(job))
    if foreign:
        raise ValueError(f"{'; '.join(foreign)}: counts records, and subject asks for persons; {_INSTEAD}")
    partial = list(_suppressing_parts(job)) if job.suppresses_persons else []
    if partial:
        raise ValueError(
            f"{'; '.join(partial)}: does not go with knows: {job.knows}, which leaves out persons with all of their "
            "rows; take it out, or set knows: any-row"
        )


def _counting_records(job: Any) -> Iterator[str]:
    """Name what counts records, whatever the subject is."""
    for position, model in enumerate(job.privacy):
        if not model.counts_persons:
            yield f"privacy.{position}: {model.model}"
    for name, value in (("frontier", job.frontier), ("choose", job.choose)):
        if value is not None:
            yield name
    if job.search.algorithm == POLICY:
        yield f"search.algorithm: {POLICY}"
    if job.suppress != "any":
        yield f"suppress: {job.suppress}"
    for name in ("population", "sampling_fraction"):
        if getattr(job.risk, name) is not None:
            yield f"risk.{name}"


def _suppressing_parts(job: Any) -> Iterator[str]:
    """Name what suppresses single records, or judges classes that are suppressed whole."""
    for name in job.quasi_identifiers:
        if job.attributes[name].unseen == "suppress":
            yield f"attributes.{name}.unseen: suppress"
    if not job.utility.sums_records:
        yield f"utility.measure: {job.utility.measure}"
    for position, model in enumerate(job.privacy):
        if isinstance(job.known, int) and model.sensitive_attribute is not None and model.distinct_values is None:
            yield (
                f"privacy.{position}: {model.describe()}, which a set of persons may fail that contains one that "
                "satisfies it, so that no set of persons is the largest to be released; of sensitive values only "
                "distinct l-diversity can be demanded of what some rows tell"
            )
    if job.search.algorithm != "optimal":
        yield f"search.algorithm: {job.search.algorithm}"
