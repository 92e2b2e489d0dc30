"""Rows of the ledger, within a transaction that writes alone: the entry that is there, and the one to be appended."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from airflow_anon.ledger import pending, verify
from airflow_anon.ledger.chain import canonical_json, entry_sha256, text_sha256
from airflow_anon.ledger.entry import Entry, columns_of, is_storable
from airflow_anon.ledger.schema import ledger_head, release_document, release_ledger

_ATTEMPT = ("dag_id", "run_id", "task_group", "attempt")


def append(connection: sa.Connection, head: Mapping[str, Any], document: Mapping[str, Any]) -> Entry:
    """Write an entry, its document and the head; the release of the entry is not pending any more."""
    text = canonical_json(dict(document))
    entry = _chained(columns_of(document), text, head)
    connection.execute(sa.insert(release_ledger).values(**vars(entry)))
    connection.execute(sa.insert(release_document).values(sequence=entry.sequence, document=text))
    connection.execute(sa.update(ledger_head).values(sequence=entry.sequence, entry_sha256=entry.entry_sha256))
    if entry.release_id is not None:
        pending.withdraw(connection, entry.job, entry.release_id)
    return entry


def released(connection: sa.Connection, job: str, release_id: str) -> Entry | None:
    """Return the entry of a release."""
    return _one(connection, *same(release_ledger, job=job, release_id=release_id, outcome="released"))


def not_released(connection: sa.Connection, columns: Mapping[str, Any]) -> Entry | None:
    """Return the entry of an attempt that was recorded as refused or failed."""
    attempt = same(release_ledger, **{name: columns[name] for name in _ATTEMPT})
    return _one(connection, *attempt, release_ledger.c.outcome != "released")


def same(table: sa.Table, **columns: Any) -> list[Any]:
    """Return the conditions under which columns have these values; what no database can hold is in none."""
    if not all(is_storable(value) for value in columns.values()):
        return [sa.false()]
    return [table.c[name] == value for name, value in columns.items()]


def _one(connection: sa.Connection, *where: Any) -> Entry | None:
    row = connection.execute(sa.select(*verify.cells()).where(*where).limit(1)).mappings().one_or_none()
    return None if row is None else Entry.of_cells(dict(row))


def _chained(columns: Mapping[str, Any], document: str, head: Mapping[str, Any]) -> Entry:
    row = {
        **columns,
        "sequence": head["sequence"] + 1,
        "recorded_at": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "document_sha256": text_sha256(document),
        "previous_sha256": head["entry_sha256"],
    }
    return Entry(**row, entry_sha256=entry_sha256(row))
