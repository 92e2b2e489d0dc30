"""The part of an entry's document that says what the columns tell, as the linter found it; `form` is the whole."""

from __future__ import annotations

from airflow_anon.ledger.form_part import Number, Part


class LintedColumn(Part):
    """How a released column varies in the source: distinct values and differing pairs, as shares."""

    column: str
    role: str | None = None
    distinction: Number | None = None
    separation: Number | None = None
    accept: str | None = None


class LintedClasses(Part):
    """The homogeneous classes of a sensitive column in the file."""

    column: str
    homogeneous: int | None = None
    records_share: Number | None = None


class LintFinding(Part):
    """What was found of a column; the warnings say it in words."""

    kind: str
    column: str


class Lint(Part):
    """What the linter measured; `unit` is what the job says is counted: record or person."""

    unit: str | None = None
    columns: list[LintedColumn] | None = None
    classes: list[LintedClasses] | None = None
    findings: list[LintFinding] | None = None
