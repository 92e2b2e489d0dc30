"""Compares tonight's table with that of the last release, before anything is searched for.

In: a job, tonight's counts, and the private file of what is remembered. Out: the counts without quarantined records,
what the report says, and the facts of tonight, to be kept once the release is published. A table that drifted is
refused. What leaves the run names columns and limits, and never a value, a count or a measured distance.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from typing_extensions import TypedDict

from engine.errors import DriftRefused, InvalidJob, unreadable
from engine.job.drift import DriftSettings
from engine.job.job import Job, without_folders
from engine.tables.drift_facts import (
    CountedColumn,
    Facts,
    column_facts,
    distance,
    keyed,
    rows_with_new_values,
    types_of,
)
from engine.tables.frequency import FrequencyTable

FORMAT = 1
_READ = ("role", "hierarchy", "missing", "unseen", "order", "action")
"""Keys of a column that say how it is read: with others than last night's its counts cannot be compared."""


class DriftStated(TypedDict):
    """What the report says of drift.

    `since`: when the facts were made that the table was compared with, null on the first night. `not_compared`: columns
    that the job reads otherwise than then. `quarantined`: columns for whose new values records were left out; how many
    is told with all other suppressed records.
    """

    since: str | None
    not_compared: list[str]
    quarantined: list[str]


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
    found = [*_differences(job.drift, before, facts, comparable)]
    if found:
        raise DriftRefused(
            f"drift: the table is not like that of the release of {before['made']}: {'; '.join(found)}; if it is meant "
            "to be so, remove the file of drift.facts, and the next run begins anew; or change the limits under drift"
        )
    quarantined = []
    refused = np.zeros(table.counts.size, np.bool_) if table.refused is None else table.refused
    for name in job.drift.quarantined:
        if name not in comparable:
            continue
        known = frozenset(before["columns"][name]["values"])
        rows, new = rows_with_new_values(table, name, facts["salt"], known)
        if rows.any():
            quarantined.append(name)
            refused = refused | rows
            # they stay new until somebody accepts them
            facts["columns"][name]["values"] = sorted(set(facts["columns"][name]["values"]) - new)
    if quarantined:
        table = replace(table, refused=refused)
    others = sorted(set(facts["columns"]) - set(comparable))
    return Compared(table, {"since": before["made"], "not_compared": others, "quarantined": quarantined}, facts)


def drift_warnings(stated: DriftStated) -> list[str]:
    """Return what the report warns of."""
    found = [
        f"drift: column {name!r} has values that it did not have; their records are left out until the values are "
        "accepted"
        for name in stated["quarantined"]
    ]
    if stated["since"] is None:
        found.append("drift: nothing is remembered of an earlier release, so the table was compared with none")
    return found


def read_facts(job: Job) -> Facts | None:
    """Read what is remembered of the last release; None if there is no file.

    Raises
    ------
    InvalidJob
        See `compared`.
    """
    assert job.drift is not None  # noqa: S101 (the caller has asked)
    path = Path(job.drift.facts)
    named = f"drift.facts, file {path}"
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise InvalidJob(f"{named}: is not a file; remove it")
            if mode & 0o077:
                raise InvalidJob(
                    f"{named}: has mode {stat.S_IMODE(mode):04o}, must be closed to group and others; run `chmod 600`"
                )
            found = json.loads(file.read())
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise InvalidJob(f"{named}: cannot be read ({unreadable(problem)}); let who runs the job read it") from None
    except ValueError:
        found = None
    return _sound(found, named, job)


def _sound(found: Any, named: str, job: Job) -> Facts:
    """Return facts that have their form and are of the job."""
    if not _is_facts(found):
        raise InvalidJob(f"{named}: is damaged or of another version; remove it, and the next run begins anew")
    if found["job"] != job.name:
        raise InvalidJob(f"{named}: is of another job; name one file per job")
    return cast("Facts", found)


def keep_drift_facts(job: Job, facts: Mapping[str, Any]) -> None:
    """Remember the table of a release, once it is published: `facts` of its `Result`, in one step.

    Raises
    ------
    InvalidJob
        The facts are not those of a run of the job, or the file cannot be written.
    """
    assert job.drift is not None  # noqa: S101 (the caller has asked)
    path = Path(job.drift.facts)
    named = f"drift.facts, file {path}"
    content = json.dumps(_sound(dict(facts), "facts of a run", job)).encode()
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as problem:
        raise InvalidJob(
            f"{named}: cannot be written ({unreadable(problem)}); the release is complete, and the next one is "
            "compared with the one before it"
        ) from None


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
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()


def _is_facts(found: Any) -> bool:
    """Whether somebody else has not changed the form of a file of facts."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return False
    kinds: dict[str, type] = {"job": str, "made": str, "salt": str, "records": int, "types": dict, "columns": dict}
    if not all(isinstance(found.get(key), kind) for key, kind in kinds.items()):
        return False
    try:
        keyed(found["salt"], "", "")
    except ValueError:
        return False
    inner: dict[str, type] = {"definition": str, "level": int, "records": dict, "missing": int, "values": list}
    return all(
        isinstance(column, dict) and all(isinstance(column.get(key), kind) for key, kind in inner.items())
        for column in found["columns"].values()
    )
