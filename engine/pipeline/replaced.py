"""What becomes of a job's identifiers and dates: the source with shifted dates, the records with pseudonyms.

In: a job, its opened keys, the day of ages. Out: tables to read instead of the source, and what the report says. Dates
are shifted before anything is counted, since criteria must count what is released; pseudonyms are made when the output
is, since persons are counted by what the source says.
"""

from __future__ import annotations

import datetime as dt

from engine.job.job import Job
from engine.job.keys import Keys
from engine.job.replaced import LINKED_ROWS
from engine.pipeline.document import ReplacedStated, ReportedIdentifier, ReportedShift
from engine.tables.altered.pseudonyms import PseudonymizedTable, pseudonym_key
from engine.tables.altered.shifted import Shift, ShiftedTable, shift_key
from engine.tables.sources.person_codes import lacks_subject
from engine.tables.sources.table import Table


def ages_on(job: Job) -> dt.date:
    """Return the day on which shifted dates must tell no age over 89: that of the job, or today in UTC."""
    named = None if job.shift is None else job.shift.ages_on
    return named or dt.datetime.now(dt.timezone.utc).date()


def with_shifted_dates(job: Job, source: Table, keys: Keys, day: dt.date) -> Table:
    """Return a source with the dates of each person shifted; the source itself if the job shifts none.

    Raises
    ------
    InvalidData
        The source lacks the column of persons, or a column to shift holds no dates.
    """
    if job.shift is None or job.subject is None:
        return source
    if job.subject not in source.schema.names:
        raise lacks_subject(job.subject)
    shift = Shift(
        job.shift.days,
        job.shift.weeks,
        day,
        job.shift.ages_over_89 == "leave-out",
        shift_key(keys.shift, job.name),
    )
    columns = {name: frozenset(job.attributes[name].missing) for name in job.shifted}
    return ShiftedTable(source, job.subject, columns, shift)


def with_pseudonyms(job: Job, records: Table, keys: Keys) -> Table:
    """Return records with pseudonyms in the columns that the job pseudonymizes; the records themselves without any."""
    if not job.pseudonymized:
        return records
    of_column = {name: pseudonym_key(keys.of_column(name), job.name, job.family(name)) for name in job.pseudonymized}
    return PseudonymizedTable(records, of_column)


def replaced_stated(job: Job, day: dt.date) -> ReplacedStated:
    """Return what a report says of identifying columns and of shifted dates."""
    stated: ReplacedStated = {}
    if job.identifying:
        stated["identifying"] = [_identifier(job, name) for name in job.identifying]
    if job.shift is not None:
        shift: ReportedShift = {
            "columns": list(job.shifted),
            "days": job.shift.days,
            "weeks": job.shift.weeks,
            "ages_over_89": job.shift.ages_over_89,
            "ages_on": day.isoformat(),
            "key": "persistent" if job.shift.is_persistent else "fresh",
            "key_id": job.shift.key_id,
        }
        stated["shift"] = shift
    return stated


def _identifier(job: Job, name: str) -> ReportedIdentifier:
    attribute = job.attributes[name]
    if not attribute.is_pseudonymized:
        return {"column": name, "action": "drop"}
    return {
        "column": name,
        "action": "pseudonymize",
        "family": job.family(name),
        "key": "persistent" if attribute.is_persistent else "fresh",
        "key_id": attribute.key_id,
    }


def replaced_warnings(job: Job) -> list[str]:
    """Say what no criterion looks at: rows that pseudonyms join, and intervals between dates that are shifted alike."""
    texts = [
        f"pseudonymized column {name!r}: its pseudonyms join rows of the release, which the job accepts; no criterion "
        "looks at what they show together"
        for name in job.pseudonymized
        if job.attributes[name].accept == LINKED_ROWS
    ]
    texts += [
        f"pseudonymized column {name!r}: its pseudonyms stay the same, so that records can be followed from release to "
        "release"
        for name in job.pseudonymized
        if job.attributes[name].is_persistent
    ]
    together = [name for name in job.shifted if name not in job.quasi_identifiers]
    if len(together) > 1:
        texts.append(
            f"columns {', '.join(map(repr, together))}: are shifted by the same days, so that the intervals between "
            "them are exact; no criterion looks at these, and who knows one finds the records that have it"
        )
    return texts
