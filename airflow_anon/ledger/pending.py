"""Publications that have begun but have no entry yet, as rows of `pending_release`.

In: a connection of a write or a read transaction. A row holds the document of the future entry, so that the run that
ends the publication, its own or a later one, records what was begun. An entry is written only if the row has the state
`begun`: a process that still runs cannot complete a publication that is being taken back.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from airflow_anon.ledger.chain import canonical_json
from airflow_anon.ledger.entry import NAMED, Pending, columns_of
from airflow_anon.ledger.errors import LedgerError, StillPending
from airflow_anon.ledger.schema import pending_release

_columns = pending_release.c
_TAKEN = ("dag_id", "run_id", "manifest_sha256")


def begin(connection: sa.Connection, document: Mapping[str, Any]) -> None:
    """Record that a publication begins; one that was cut off begins again.

    Raises
    ------
    LedgerError
        The document is not of a release, another run has begun this release, or it is being taken back.
    """
    decided = columns_of(document)
    if decided["outcome"] != "released":
        raise LedgerError("the document's outcome: must be released for a publication to begin")
    job, release_id = decided["job"], decided["release_id"]
    known = _row(connection, job, release_id)
    if known is not None and (known.dag_id, known.run_id) != (decided["dag_id"], decided["run_id"]):
        raise LedgerError(
            f"release {release_id!r} of job {job!r}: run {known.run_id!r} of DAG {known.dag_id!r} has begun to publish "
            f"it; clear that run, or withdraw its release"
        )
    if known is not None:
        known.refuse_another(document.get("run") or {})
    if known is not None and known.revoked:
        raise LedgerError(
            f"release {release_id!r} of job {job!r}: its publication was taken back and is still being removed; clear "
            f"the run"
        )
    withdraw(connection, job, release_id)
    row = {"job": job, "release_id": release_id, **{name: decided[name] for name in _TAKEN}}
    since = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
    text = canonical_json(dict(document))
    connection.execute(sa.insert(pending_release).values(**row, state="begun", since=since, document=text))


def begun(connection: sa.Connection, job: str, release_id: str, manifest_sha256: str) -> dict[str, Any]:
    """Return the document of a publication that has begun.

    Raises
    ------
    LedgerError
        It has not begun, has begun with another release, or was taken back.
    """
    row = _row(connection, job, release_id)
    if row is None or row.revoked or row.manifest_sha256 != manifest_sha256:
        raise LedgerError(
            f"release {release_id!r} of job {job!r}: its publication was taken back, or begun again with another "
            f"release, so it gets no entry; clear the run"
        )
    return row.document


def revoke(connection: sa.Connection, publication: Pending) -> bool:
    """Revoke a publication, so that no process continues it; False if it is gone or was begun again."""
    where = (*_same(publication.job, publication.release_id), _columns.manifest_sha256 == publication.manifest_sha256)
    return bool(connection.execute(sa.update(pending_release).where(*where).values(state="revoked")).rowcount)


def is_revoked(connection: sa.Connection, publication: Pending) -> bool:
    """Whether this publication is still pending and is being taken back."""
    row = _row(connection, publication.job, publication.release_id)
    return row is not None and row.revoked and row.manifest_sha256 == publication.manifest_sha256


def refuse_open(connection: sa.Connection, columns: Mapping[str, Any]) -> None:
    """Raise `StillPending` if a publication of the run in these columns is pending."""
    run = (_columns[name] == columns[name] for name in ("job", "dag_id", "run_id"))
    found = connection.execute(sa.select(_columns.release_id).where(*run).limit(1)).scalar()
    if found is not None:
        raise StillPending(
            f"release {found!r} of job {columns['job']!r}: its publication is pending, so its attempt has not ended"
        )


def withdraw(connection: sa.Connection, job: str, release_id: str) -> None:
    """Remove the row of a publication; harmless if none is pending."""
    connection.execute(sa.delete(pending_release).where(*_same(job, release_id)))


def pending(connection: sa.Connection, job: str | None) -> list[Pending]:
    """Return the publications that have begun, of one job or of all, oldest first."""
    query = sa.select(pending_release).order_by(_columns.since, _columns.job, _columns.release_id)
    rows = connection.execute(query if job is None else query.where(_columns.job == job)).mappings()
    return [_read(row) for row in rows]


def _row(connection: sa.Connection, job: str, release_id: str) -> Pending | None:
    query = sa.select(pending_release).where(*_same(job, release_id))
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _read(row)


def _read(row: sa.RowMapping) -> Pending:
    cells: dict[str, Any] = {str(name): value for name, value in row.items()}
    state = cells.pop("state")
    try:
        document = json.loads(cells.pop("document"))
        decided = columns_of(document)
    except (TypeError, ValueError, RecursionError, LedgerError):
        # Lists leave it out, and the check of the ledger reports it.
        document, decided = {}, {}
    if any(cells[name] != decided.get(name) for name in NAMED):
        document = {}
    return Pending(**cells, revoked=state != "begun", document=document)


def _same(job: str, release_id: str) -> tuple[Any, Any]:
    return _columns.job == job, _columns.release_id == release_id
