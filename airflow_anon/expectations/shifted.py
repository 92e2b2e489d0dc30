"""The staged source with its dates shifted, as the release was made from it, for the second judge."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_anon.expectations.person_keys import key_for, shift_of
from airflow_anon.expectations.persons_named import persons_named
from engine import InvalidData

if TYPE_CHECKING:
    from engine import Job

_AGE = 90
_DAY_LENGTH = 10


def shift_settings(job: Job, report: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any] | None:
    """Return how the dates of a job were shifted; None for a job that shifts none.

    Raises
    ------
    ValueError
        The key is not given, or the report does not say on which day ages are told.
    """
    if job.shift is None:
        return None
    if "shift" not in keys:
        raise ValueError("keys: that of shift is not given; run deidentify again")
    stated = report.get("shift")
    day = stated.get("ages_on") if isinstance(stated, Mapping) else None
    try:
        year = dt.date.fromisoformat(day or "").year
    except (TypeError, ValueError):
        raise ValueError("report: shift.ages_on must be the day of ages, such as 2026-03-01") from None
    if job.shift.ages_on is not None and day != job.shift.ages_on.isoformat():
        raise ValueError("report: shift.ages_on is not that of the job; the release was made by another one")
    return {
        "subject": job.subject,
        "missing": {name: list(job.attributes[name].missing) for name in job.shifted},
        "days": job.shift.days,
        "weeks": job.shift.weeks,
        "last_year": year - _AGE if job.shift.ages_over_89 == "leave-out" else 0,
        "key": key_for(keys["shift"], "shift", job.name).hex(),
    }


def with_shifted_dates(table: pa.Table, shift: Mapping[str, Any]) -> pa.Table:
    """Return a table with its dates shifted, by the days of each record's person.

    Raises
    ------
    InvalidData
        A column is missing, or holds what is no date.
    """
    if not {shift["subject"], *shift["missing"]} <= set(table.column_names):
        raise InvalidData("source: lacks the column of persons, or one of shifted dates; give the extracted one")
    persons = _texts(persons_named(table, shift["subject"])[shift["subject"]])
    key = bytes.fromhex(shift["key"])
    days = {
        person: shift_of(key, person, shift["days"], weeks=shift["weeks"])
        for person in set(persons)
        if person is not None and person.strip()
    }
    for name, missing in shift["missing"].items():
        place = table.column_names.index(name)
        kind = table.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        texts = [
            None if person not in days or text in missing else _moved(text, days[person], shift["last_year"])
            for text, person in zip(_texts(_in_utc(table[name], kind)), persons, strict=True)
        ]
        try:
            moved = pa.array(texts, pa.string()).cast(kind)
        except pa.ArrowException:  # its message may quote a value
            raise InvalidData("source: a shifted date does not fit the type of its column") from None
        table = table.set_column(place, name, moved)
    return table


def _in_utc(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return moments in UTC, where each day has 24 hours."""
    has_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(pa.timestamp(kind.unit, "UTC")) if has_zone else column


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    found: list[str | None] = column.cast(pa.string()).to_pylist()
    return found


def _moved(text: str | None, days: int, last_year: int) -> str | None:
    if text is None:
        return None
    try:
        day = dt.date.fromisoformat(text[:_DAY_LENGTH])
        if day.year <= last_year:
            return None
        return (day + dt.timedelta(days=days)).isoformat() + text[_DAY_LENGTH:]
    except (ValueError, OverflowError):
        raise InvalidData("source: a date cannot be read or shifted") from None
