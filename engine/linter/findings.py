"""What is found about columns, and what is refused: thresholds, kinds and texts.

In: how columns vary, which identifying columns repeat, homogeneous classes. Out: findings and their texts,
or the error that ends the run. A text has thresholds and no exact share: that of a table of which few records are left
out would tell how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.errors import InvalidData
from engine.identifiers.kinds import COARSENED, WORDS
from engine.identifiers.kinds import Kind as Identifier
from engine.job.attribute import Attribute
from engine.job.job import Job
from engine.linter.columns import Variation
from engine.linter.document import Kind, LintedClasses, LintFinding

NEARLY_UNIQUE = 0.9
"""Distinction from which on the values of a column are nearly unique."""
FEWEST_RECORDS = 100
"""Records with a value from which on a nearly unique column is refused.

Chance makes the values of few records differ: of r records that take one of d values at random, the distinction is
d / r * (1 - (1 - 1 / d) ** r), so a measurement of 300 equally likely values reaches 0.97 in 20 records, 0.85 in 100
and 0.29 in 1,000.
"""
RARE_SHARE = 0.5
"""Share of records with rare values from which on a column that nobody generalizes is worth a warning."""
FREQUENT_DAY = 0.1
"""Share of records with one day from which on it may be a placeholder in a column of shifted dates."""
OF_THE_SOURCE = frozenset({"nearly-unique", "rare-values", "hardly-varies", "frequent-day"})
"""Kinds of findings that depend on all records of the source, those that are not in the file too."""
LEAST_SEPARATION = 0.02
"""Separation below which a quasi-identifier hardly varies: 99% of the records have the same value."""


def refuse_unique(job: Job, found: Mapping[str, Variation]) -> None:
    """Refuse columns that would be released with nearly unique values, unless the job accepts it.

    Raises
    ------
    InvalidData
        Names each such column, the threshold and the fix.
    """
    unique = [
        f"{job.attributes[name].role} column {name!r}: its distinct values are at least {NEARLY_UNIQUE:.0%} of its "
        "records"
        for name in _nearly_unique(job, found)
        if found[name].records >= FEWEST_RECORDS and job.attributes[name].accept != "unique"
    ]
    if unique:
        raise InvalidData(
            f"{'; '.join(unique)}: whoever knows such a value finds the record, whatever the criteria are; allowed is "
            f"less than {NEARLY_UNIQUE:.0%}, or fewer than {FEWEST_RECORDS} records with a value; give the column the "
            "role identifying, or quasi-identifying with a hierarchy, round its values in the source, or say accept: "
            "unique under attributes if they are meant to be released"
        )


def refuse_identifiers(job: Job, kinds: Mapping[str, Identifier]) -> None:
    """Refuse identifiers that would be released as they are, unless the job accepts it.

    Parameters
    ----------
    kinds : mapping of column to Kind
        Columns that look like identifiers of 45 CFR 164.514(b)(2)(i).

    Raises
    ------
    InvalidData
        Names each such column, what it looks like, and the fix.
    """
    found = [
        f"{job.attributes[name].role} column {name!r}: looks like {WORDS[kind]}"
        for name, kind in kinds.items()
        if _is_refused(job.attributes[name], kind)
    ]
    if found:
        raise InvalidData(
            f"{'; '.join(found)}: it would be released as it is; give the column the role identifying, or "
            "quasi-identifying with a hierarchy, or say accept: unique under attributes if it is meant to be released"
        )


def _is_refused(attribute: Attribute, kind: Identifier) -> bool:
    # whether a text names somebody cannot be told by its form; the values of notes are nearly unique anyway
    if attribute.accept is not None or kind in {"free-text", "date"}:
        return False
    return attribute.role == "insensitive" or kind not in COARSENED


def refuse_unanswered(repeats: Mapping[str, bool | None]) -> None:
    """Refuse a job that does not say what it counts, where records and persons may differ.

    Parameters
    ----------
    repeats : mapping of column to bool or None
        Whether several records have the same value in an identifying column; None where it is not known.

    Raises
    ------
    InvalidData
        Names the columns that repeat, and those of which it is not known, and the two answers.
    """
    known = [name for name, answer in repeats.items() if answer]
    unknown = [name for name, answer in repeats.items() if answer is None]
    found = [
        f"identifying column{'s' if names[1:] else ''} {', '.join(map(repr, names))}: {what}"
        for names, what in (
            (known, "several records have the same value"),
            (unknown, "it is not known whether several records have the same value"),
        )
        if names
    ]
    if found:
        raise InvalidData(
            f"{'; '.join(found)}, and the job does not say what is counted, so that a class may hold fewer persons "
            "than it seems; say subject: COLUMN, the identifying column that says whose a record is, and persons are "
            "counted, or unit: record if records are meant"
        )


def refuse_linked(columns: Sequence[str]) -> None:
    """Refuse pseudonyms by which records of the release could be joined.

    Parameters
    ----------
    columns : sequence of str
        Pseudonymized columns in which several records have the same value, and which the job does not accept.

    Raises
    ------
    InvalidData
        Names each of them, and the fix.
    """
    if columns:
        raise InvalidData(
            f"pseudonymized column{'s' if columns[1:] else ''} {', '.join(map(repr, columns))}: several records have "
            "the same value, so that their pseudonym joins them, and no criterion looks at what they show together; "
            "leave action out, or say accept: linked-rows there if that is meant"
        )


def column_findings(job: Job, found: Mapping[str, Variation]) -> Iterator[LintFinding]:
    """Yield what is found of the columns of the source."""
    nearly_unique = _nearly_unique(job, found)
    for name, variation in found.items():
        if name in nearly_unique:
            yield {"kind": "nearly-unique", "column": name}
        elif job.attributes[name].role == "insensitive" and _mostly_rare(variation):
            yield {"kind": "rare-values", "column": name}
        elif job.attributes[name].role == "quasi-identifying" and _hardly_varies(variation):
            yield {"kind": "hardly-varies", "column": name}
    modelled = {model.sensitive_attribute for model in job.privacy}
    for name in job.sensitive:
        if name not in modelled:
            yield {"kind": "no-model", "column": name}
    read = {model.sensitive_attribute for model in job.privacy if model.reads_hierarchy}
    for name in job.sensitive:
        if job.attributes[name].hierarchy is not None and name not in read:
            yield {"kind": "unused-hierarchy", "column": name}


def day_findings(found: Mapping[str, tuple[int, int]]) -> Iterator[LintFinding]:
    """Yield the columns of shifted dates of which many records have the same day: as of `most_frequent_days`."""
    for name, (most, records) in found.items():
        if records >= FEWEST_RECORDS and most >= FREQUENT_DAY * records:
            yield {"kind": "frequent-day", "column": name}


def class_findings(classes: Sequence[LintedClasses]) -> Iterator[LintFinding]:
    """Yield the sensitive columns of which the file has homogeneous classes."""
    for one in classes:
        if one["homogeneous"]:
            yield {"kind": "homogeneous-classes", "column": one["column"]}


def text(job: Job, finding: LintFinding) -> str:
    """Say a finding in words, without a value or a count."""
    name = finding["column"]
    attribute = job.attributes[name]
    why = "the job accepts it" if attribute.accept == "unique" else f"fewer than {FEWEST_RECORDS} records have a value"
    words = _TEXTS[finding["kind"]].format(few=max(2, job.minimum_class_size), released_because=why)
    return f"{attribute.role} column {name!r}: {words}"


_TEXTS: Mapping[Kind, str] = {
    "nearly-unique": f"its distinct values are at least {NEARLY_UNIQUE:.0%} of its records: whoever knows a value "
    "finds the record, whatever the criteria are; it is released because {released_because}",
    "rare-values": f"at least {RARE_SHARE:.0%} of the records have a value that fewer than {{few}} records have: "
    "whoever knows it narrows a class down further than the criteria allow",
    "hardly-varies": f"fewer than {LEAST_SEPARATION:.0%} of the pairs of records differ in it: nearly all have one "
    "value, so it divides few classes; those with another value are what it tells",
    "frequent-day": f"at least {FREQUENT_DAY:.0%} of its records have the same day; if it is a placeholder, it tells, "
    "shifted, by how many days the dates of each of these persons are: list its text under missing",
    "no-model": "no privacy model limits what a class tells of it; add l-diversity or t-closeness, or give it another "
    "role",
    "unused-hierarchy": "its hierarchy has no effect, since no model compares its values by it: they are released as "
    "they are; give the column the role quasi-identifying to generalize it, add t-closeness with distance: "
    "hierarchical, or take the hierarchy out",
    "homogeneous-classes": "in some classes all records have the same value: whoever is known to be in one has it; "
    "distinct l-diversity avoids that",
}


def _nearly_unique(job: Job, found: Mapping[str, Variation]) -> list[str]:
    released_as_they_are = [name for name in found if name not in job.quasi_identifiers]
    # of a single record nothing is unusual
    return [
        name
        for name in released_as_they_are
        if found[name].records > 1 and (found[name].distinction or 0) >= NEARLY_UNIQUE
    ]


def _mostly_rare(variation: Variation) -> bool:
    return variation.records > 0 and variation.rare / variation.records >= RARE_SHARE


def _hardly_varies(variation: Variation) -> bool:
    return variation.separation is not None and variation.separation < LEAST_SEPARATION
