"""The linter in a run: the columns are looked at before the search, the classes of the output after it.

In: a job and its source, which was counted; later the output. Out: the `Lint` of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from engine.errors import InvalidData
from engine.identifiers.kinds import Kind as Identifier
from engine.job.job import Job
from engine.linter.classes import homogeneous_classes
from engine.linter.columns import Variation
from engine.linter.document import Lint, LintedColumn
from engine.linter.findings import (
    class_findings,
    column_findings,
    day_findings,
    refuse_identifiers,
    refuse_linked,
    refuse_unanswered,
    refuse_unique,
    text,
)
from engine.linter.placeholders import most_frequent_days
from engine.linter.repeats import repeating
from engine.message import Message
from engine.tables.class_table import ClassTable
from engine.tables.sources.linked_name import TABLE
from engine.tables.sources.table import Table

_DIGITS = 2


def lint_columns(
    job: Job,
    source: Table,
    found: Mapping[str, Variation],
    repeats: Mapping[str, bool | None] | None = None,
    identifiers: Mapping[str, Identifier] | None = None,
) -> Lint:
    """Look at the columns of a source.

    Parameters
    ----------
    found : mapping of column to Variation
        Of every released column.
    repeats : mapping of column to bool or None, optional
        Whether identifying columns repeat that the source lacks; None where it is not known.
    identifiers : mapping of column to Identifier, optional
        Columns that are released as they are and look like identifiers.

    Raises
    ------
    InvalidData
        A column that is released as it is looks like an identifier, or has nearly unique values, and the job does not
        accept it; or an identifying column repeats, and the job does not say whether persons or records are counted; or
        pseudonyms would join records, and the job does not accept it.
    """
    refuse_unanswered(_repeats(job, source, repeats or {}))
    refuse_identifiers(job, identifiers or {})
    refuse_linked(_linked(job, source))
    # which of several tables a record is of is no column of theirs
    found = {name: one for name, one in found.items() if job.tables is None or name != TABLE}
    refuse_unique(job, found)
    dates = {name: job.attributes[name].missing for name in job.shifted}
    findings = [*column_findings(job, found), *day_findings(most_frequent_days(source, dates))]
    columns = [_linted(job, name, variation) for name, variation in found.items()]
    return {
        "unit": job.unit if job.subject is None else "person",
        "columns": columns,
        "classes": [],
        "findings": findings,
    }


def lint_problems(
    job: Job,
    source: Table,
    found: Mapping[str, Variation],
    repeats: Mapping[str, bool | None] | None = None,
    identifiers: Mapping[str, Identifier] | None = None,
) -> Iterator[Message]:
    """Yield all reasons for which `lint_columns` would end a run; the arguments are the same."""
    refusals: tuple[Callable[[], None], ...] = (
        lambda: refuse_unanswered(_repeats(job, source, repeats or {})),
        lambda: refuse_identifiers(job, identifiers or {}),
        lambda: refuse_unique(job, found),
    )
    for refuse in refusals:
        try:
            refuse()
        except InvalidData as problem:  # noqa: PERF203 (all of them are told)
            yield problem.message


def with_classes(job: Job, lint: Lint, released: ClassTable) -> Lint:
    """Add the homogeneous classes of the table that is released."""
    classes = homogeneous_classes(job, released)
    return {**lint, "classes": classes, "findings": [*lint["findings"], *class_findings(classes)]}


def warnings_of(job: Job, lint: Lint) -> list[str]:
    """Say the findings in words, one text each."""
    return [text(job, finding) for finding in lint["findings"]]


def _repeats(job: Job, source: Table, elsewhere: Mapping[str, bool | None]) -> dict[str, bool | None]:
    """Tell which identifying columns repeat, unless the job says what is counted."""
    if job.unit is not None or job.subject is not None:
        return {}
    present = [name for name in job.identifying if name in source.schema.names]
    known = {**elsewhere, **repeating(source, present)}
    return {name: known[name] for name in job.identifying if name in known}


def _linked(job: Job, source: Table) -> list[str]:
    """Return the pseudonymized columns that repeat, or may, although the job accepts no rows that are linked by them.

    Of a pseudonym of the subject the job itself says whether its rows may be linked.
    """
    asked = [name for name in job.pseudonymized if name != job.subject and job.attributes[name].accept is None]
    return [name for name, repeats in repeating(source, asked).items() if repeats is not False]


def _linted(job: Job, name: str, variation: Variation) -> LintedColumn:
    attribute = job.attributes[name]
    linted: LintedColumn = {
        "column": name,
        "role": attribute.role,
        "distinction": _rounded(variation.distinction),
        "separation": _rounded(variation.separation),
        "records": variation.records,
    }
    return {**linted, "accept": attribute.accept} if attribute.accept == "unique" else linted


def _rounded(share: float | None) -> float | None:
    return None if share is None else float(f"{share:.{_DIGITS}g}")
