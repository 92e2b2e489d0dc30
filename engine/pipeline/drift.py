"""Compares tonight's table with that of the last release, before anything is searched for.

In: a job, tonight's counts, and the private file of what is remembered. Out: the counts without quarantined records,
what the report says, and the facts of tonight, to be kept once the release is published. A table that drifted is
refused. What leaves the run names columns and limits, and never a value, a count or a measured distance.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from typing_extensions import NotRequired, TypedDict

from engine.errors import DriftRefused
from engine.job.document import without_folders
from engine.job.drift import DriftSettings
from engine.job.job import Job
from engine.pipeline.drift_file import FORMAT, difference_of, hash_of, read_accepted, read_facts
from engine.tables.counting.drift_facts import (
    CountedColumn,
    Facts,
    column_facts,
    distance,
    rows_with_new_values,
    types_of,
)
from engine.tables.counting.frequency import FrequencyTable

_READ = ("role", "hierarchy", "missing", "unseen", "order", "action")
"""Keys of a column that say how it is read: with others than last night's its counts cannot be compared."""


class DriftAccepted(TypedDict):
    """A difference that somebody accepted, and without which the table would have been refused.

    `difference`: its name. `differences`: the limits that did not hold, in words without values. `by`, `at` (UTC, ISO
    8601), `comment`: who accepted it, when and why.
    """

    difference: str
    differences: list[str]
    by: str
    at: str
    comment: str | None


class DriftStated(TypedDict):
    """What the report says of drift.

    `since`: when the facts were made that the table was compared with, null on the first night. `not_compared`: columns
    that the job reads otherwise than then. `quarantined`: columns for whose new values records were left out; how many
    is told with all other suppressed records. `accepted`: only of a table that would have been refused.
    """

    since: str | None
    not_compared: list[str]
    quarantined: list[str]
    accepted: NotRequired[DriftAccepted]


class Compared(NamedTuple):
    """A table that has not drifted, or whose new values are quarantined."""

    table: FrequencyTable
    stated: DriftStated
    facts: Facts


def compared(job: Job, schema: pa.Schema, table: FrequencyTable) -> Compared:
    """Compare a table with what is remembered.

    Parameters
    ----------
    schema : pyarrow Schema
        Of the source.

    Raises
    ------
    DriftRefused
        The table is not like that of the last release.
    InvalidJob
        The file of the facts cannot be read, is open to others, or is of another job.
    """
    assert job.drift is not None  # noqa: S101 (the caller has asked)
    before = read_facts(job)
    facts = _facts_of(job, schema, table, before)
    if before is None:
        return Compared(table, {"since": None, "not_compared": [], "quarantined": []}, facts)
    comparable = [name for name, found in facts["columns"].items() if _is_same(before["columns"].get(name), found)]
    table, quarantined = _quarantined(job.drift, table, before, facts, comparable)
    found = [*_differences(job.drift, before, facts, comparable)]
    others = sorted(set(facts["columns"]) - set(comparable))
    stated: DriftStated = {"since": before["made"], "not_compared": others, "quarantined": quarantined}
    if found:
        stated["accepted"] = _accepted(job, before, facts, found)
    return Compared(table, stated, facts)


def _quarantined(
    settings: DriftSettings, table: FrequencyTable, before: Facts, facts: Facts, comparable: list[str]
) -> tuple[FrequencyTable, list[str]]:
    """Leave out the records with new values of columns in which these are quarantined; name these columns."""
    quarantined = []
    refused = np.zeros(table.counts.size, np.bool_) if table.refused is None else table.refused
    for name in settings.quarantined:
        if name not in comparable:
            continue
        known = frozenset(before["columns"][name]["values"])
        rows, new = rows_with_new_values(table, name, facts["salt"], known)
        if rows.any():
            quarantined.append(name)
            refused = refused | rows
            # they stay new until somebody accepts them
            facts["columns"][name]["values"] = sorted(set(facts["columns"][name]["values"]) - new)
    return (replace(table, refused=refused) if quarantined else table), quarantined


def _accepted(job: Job, before: Facts, facts: Facts, found: list[str]) -> DriftAccepted:
    """Return who accepts a difference.

    Somebody does if the table that he or she accepted was compared with the same release, broke each of the limits that
    tonight's table breaks, and tonight's table is like it, by all limits.

    Raises
    ------
    DriftRefused
        Nobody does; with the difference, for whoever might.
    """
    assert job.drift is not None  # noqa: S101 (the caller has asked)
    known = read_accepted(job)
    if known is not None and known["before"] == hash_of(before) and set(found) <= set(known["differences"]):
        same = [name for name, one in facts["columns"].items() if _is_same(known["facts"]["columns"].get(name), one)]
        if set(same) == set(facts["columns"]) and not [*_differences(job.drift, known["facts"], facts, same)]:
            return {
                "difference": known["difference"],
                "differences": known["differences"],
                "by": known["by"],
                "at": known["at"],
                "comment": known["comment"],
            }
    refused = difference_of(job, before, found, facts)
    raise DriftRefused(
        f"drift: the table is not like that of the release of {before['made']}: {'; '.join(found)}; if it is meant "
        f"to be so, run `airflow-anon drift accept JOB.yaml --difference {refused['difference']}`, then run the job "
        "again; or change the limits under drift",
        refused=refused,
    )


def drift_warnings(stated: DriftStated) -> list[str]:
    """Return what the report warns of."""
    found = [
        f"drift: column {name!r} has values that it did not have; their records are left out until the values are "
        "accepted"
        for name in stated["quarantined"]
    ]
    if "accepted" in stated:
        known = stated["accepted"]
        found.append(f"drift: the table is not like that before it, which {known['by']} accepted on {known['at']}")
    if stated["since"] is None:
        found.append("drift: nothing is remembered of an earlier release, so the table was compared with none")
    return found


def _facts_of(job: Job, schema: pa.Schema, table: FrequencyTable, before: Facts | None) -> Facts:
    """Count tonight's table as the last one was counted, so that both can be compared."""
    assert job.drift is not None  # noqa: S101 (the caller has asked)
    salt = secrets.token_hex(32) if before is None else before["salt"]
    earlier: Mapping[str, CountedColumn] = {} if before is None else before["columns"]
    written = without_folders(job.document())["attributes"]
    columns = {}
    for name in (*table.attributes, *table.sensitive):
        definition = _definition(written[name])
        known = earlier.get(name)
        level = known["level"] if known is not None and known["definition"] == definition else None
        watched = name in job.drift.new_values
        columns[name] = column_facts(table, name, definition, salt, level=level, values=watched)
    return {
        "format": FORMAT,
        "job": job.name,
        "made": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "salt": salt,
        "records": table.records,
        "types": types_of(schema, job.released),
        "columns": columns,
    }


def _differences(settings: DriftSettings, before: Facts, now: Facts, comparable: list[str]) -> Iterator[str]:
    """Say in which ways a table is not like the last one."""
    least, most = settings.least_records, settings.most_records
    if now["records"] < least * before["records"]:
        yield f"it has less than {least:g} of its records (drift.least_records)"
    if now["records"] > most * before["records"]:
        yield f"it has more than {most:g} times its records (drift.most_records)"
    for name, kind in now["types"].items():
        was = before["types"].get(name, kind)
        if was != kind:
            yield f"column {name!r} is of type {kind}, and was {was}"
    for name in comparable:
        yield from _column_differences(settings, name, before, now)


def _column_differences(settings: DriftSettings, name: str, before: Facts, now: Facts) -> Iterator[str]:
    old, new = before["columns"][name], now["columns"][name]
    shares = [one["missing"] / max(1, facts["records"]) for one, facts in ((old, before), (new, now))]
    if abs(shares[0] - shares[1]) > settings.missing:
        yield (
            f"column {name!r}: the share of missing values is further away than {settings.missing:g} (drift.missing)"
        )
    if distance(old["records"], new["records"]) > settings.distance:
        yield (
            f"column {name!r}: the distribution of its values is further away than {settings.distance:g} "
            "(drift.distance)"
        )
    if settings.new_values.get(name) == "refuse" and set(new["values"]) - set(old["values"]):
        yield f"column {name!r}: has values that it did not have (drift.new_values)"


def _is_same(before: CountedColumn | None, now: CountedColumn) -> bool:
    """Whether a column is read as it was, and its values are remembered if they matter now."""
    if before is None or before["definition"] != now["definition"]:
        return False
    return bool(before["values"]) or not now["values"]


def _definition(written: Mapping[str, Any]) -> str:
    """Hash how a job reads a column, hexadecimal."""
    read = {key: written[key] for key in _READ if key in written}
    return hash_of(read)
