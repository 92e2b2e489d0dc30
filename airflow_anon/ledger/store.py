"""The ledger: what is written, each in one transaction under one lock, and what is read of it.

The lock is the row of `ledger_head` (PostgreSQL: SELECT ... FOR UPDATE; SQLite: BEGIN IMMEDIATE), so that every writer
sees what the one before it wrote, and no entry is written twice.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from airflow_anon.ledger import database, pending, verify
from airflow_anon.ledger.chain import canonical_json, entry_sha256, text_sha256
from airflow_anon.ledger.entry import Entry, Pending, columns_of, is_storable
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.migrate import migrate, revision_of
from airflow_anon.ledger.schema import REVISIONS, ledger_head, release_document, release_ledger
from airflow_anon.ledger.verify import Break

_entry = release_ledger.c
_ATTEMPT = ("dag_id", "run_id", "task_group", "attempt")


class Ledger:
    """A ledger in SQLite or PostgreSQL.

    Every method opens a connection of its own, so that one object serves many threads. Each raises `LedgerUnreachable`
    where the database cannot be reached, and `LedgerError` where a newer version of this package wrote the ledger.

    Parameters
    ----------
    url_or_engine : str or sqlalchemy.URL or sqlalchemy.Engine
        Nothing is opened or made before the first use; a ledger that does not exist reads as an empty one.
    """

    def __init__(self, url_or_engine: str | sa.URL | sa.Engine) -> None:
        self._engine = database.engine_of(url_or_engine)
        self._is_current = False

    @property
    def address(self) -> str:
        """Where the ledger is, without a password."""
        return database.masked(self._engine.url)

    def exists(self) -> bool:
        """Whether anybody ever wrote to this ledger."""
        with self._reading() as connection:
            return connection is not None

    def migrate(self) -> None:
        """Make the ledger, or bring its schema to that of this package; harmless where it is already."""
        migrate(self._engine)
        self._is_current = True

    def begin(self, document: Mapping[str, Any]) -> None:
        """Write down that a publication begins, again if it was cut off before; nothing where it has its entry.

        Parameters
        ----------
        document : mapping
            Of the entry to be, with the outcome `released`.

        Raises
        ------
        LedgerError
            The document is not that of a release, or another run has begun this one.
        """
        decided = columns_of(document)
        with self._writing() as (connection, _):
            if _known(connection, decided) is None:
                pending.begin(connection, document)

    def complete(self, job: str, release_id: str, manifest_sha256: str) -> Entry:
        """Write the entry of a publication that has begun, and forget that it is pending.

        Returns
        -------
        Entry
            The new one, or the one that is there already.

        Raises
        ------
        LedgerError
            The publication was taken back, or the entry that is there is of another release; or the ledger's head was
            tampered with.
        """
        with self._writing() as (connection, head):
            entry = _one(connection, *_same(release_ledger, job=job, release_id=release_id, outcome="released"))
            if entry is None:
                document = pending.begun(connection, job, release_id, manifest_sha256)
                return _append(connection, head, document)
            if entry.manifest_sha256 != manifest_sha256:
                raise LedgerError(f"release {release_id!r} of {job!r}: entry {entry.sequence} is of another release")
            return entry

    def revoke(self, job: str, release_id: str) -> None:
        """Let nobody complete a publication any more: it is being taken back."""
        with self._writing() as (connection, _):
            pending.revoke(connection, job, release_id)

    def withdraw(self, job: str, release_id: str) -> None:
        """Forget a publication that was taken back; harmless where none is pending."""
        with self._writing() as (connection, _):
            pending.withdraw(connection, job, release_id)

    def append(self, document: Mapping[str, Any]) -> Entry:
        """Write an entry, and remove the pending row of its release in the same transaction.

        Parameters
        ----------
        document : mapping
            As docs/ledger.md says, plain JSON.

        Returns
        -------
        Entry
            The new one; or the one that is there: of this release, or else of this attempt.

        Raises
        ------
        LedgerError
            The document is not plain JSON or lacks something; or the ledger's head was tampered with.
        """
        columns = columns_of(document)
        with self._writing() as (connection, head):
            return _known(connection, columns) or _append(connection, head, document)

    def pending(self, job: str | None = None) -> list[Pending]:
        """Return the publications that have begun and have no entry yet, oldest first."""
        with self._reading() as connection:
            return [] if connection is None else pending.pending(connection, job)

    def entry(self, sequence: int) -> Entry | None:
        """Return one entry, None if there is none of that number."""
        return self._first(*_same(release_ledger, sequence=sequence))

    def document(self, sequence: int) -> dict[str, Any]:
        """Return the document of an entry.

        Raises
        ------
        LedgerError
            There is none, or it cannot be read.
        """
        query = sa.select(release_document.c.document).where(*_same(release_document, sequence=sequence))
        with self._reading() as connection:
            text: Any = None if connection is None else connection.execute(query).scalar()
        try:
            document = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise LedgerError(f"entry {sequence}: its document is missing or cannot be read")
        return document

    def of_run(self, dag_id: str, run_id: str) -> list[Entry]:
        """Return the entries of a DAG run, newest first."""
        return self._entries(*_same(release_ledger, dag_id=dag_id, run_id=run_id))

    def released(self, job: str, release_id: str) -> Entry | None:
        """Return the entry of a release."""
        return self._first(*_same(release_ledger, job=job, release_id=release_id, outcome="released"))

    def of_job(self, job: str, limit: int | None = None, outcome: str | None = None) -> list[Entry]:
        """Return the entries of a job, newest first, `limit` at most."""
        outcomes = {} if outcome is None else {"outcome": outcome}
        return self._entries(*_same(release_ledger, job=job, **outcomes), limit=limit)

    def previous_release(self, entry: Entry) -> Entry | None:
        """Return the newest release of the entry's job that was recorded before it."""
        return self._first(*_same(release_ledger, job=entry.job, outcome="released"), _entry.sequence < entry.sequence)

    def latest(self) -> list[Entry]:
        """Return the newest entry of each job and DAG, newest first."""
        newest = sa.select(sa.func.max(_entry.sequence)).group_by(_entry.job, _entry.dag_id)
        return self._entries(_entry.sequence.in_(newest))

    def entries(self, limit: int | None = None) -> list[Entry]:
        """Return the entries of all jobs, newest first, `limit` at most."""
        return self._entries(limit=limit)

    def check_chain(self) -> list[Break]:
        """Return what is wrong with the rows, their links and the head; documents are not read."""
        with self._reading() as connection:
            return [] if connection is None else verify.chain_breaks(connection)

    def check(self, sequences: Sequence[int] | None = None) -> list[Break]:
        """Return what is wrong with the chain, and with the documents of all entries or of `sequences`."""
        with self._reading() as connection:
            return [] if connection is None else verify.breaks(connection, sequences)

    def _entries(self, *where: Any, limit: int | None = None) -> list[Entry]:
        query = sa.select(*verify.cells()).where(*where).order_by(_entry.sequence.desc()).limit(limit)
        with self._reading() as connection:
            rows = [] if connection is None else connection.execute(query).mappings().all()
        return [Entry.of_cells(dict(row)) for row in rows]

    def _first(self, *where: Any) -> Entry | None:
        return next(iter(self._entries(*where, limit=1)), None)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection | None]:
        """Give a connection, None where there is no ledger."""
        if not database.is_there(self._engine):
            yield None
            return
        with database.reading(self._engine) as connection:
            yield connection if self._is_current or self._is_readable(connection) else None

    def _is_readable(self, connection: sa.Connection) -> bool:
        revision = revision_of(connection)
        if revision not in (None, REVISIONS[-1]):
            raise LedgerError(
                f"ledger {self.address}: has schema {revision!r}; run `airflow-anon ledger migrate` to bring it to "
                f"{REVISIONS[-1]!r}"
            )
        self._is_current = revision is not None
        return self._is_current

    @contextmanager
    def _writing(self) -> Iterator[tuple[sa.Connection, Mapping[str, Any]]]:
        """Give a connection that writes alone, and the head as the writer before left it."""
        if not self._is_current:
            self.migrate()
        with database.writing(self._engine) as connection:
            heads = connection.execute(sa.select(ledger_head).with_for_update()).mappings().all()
            if len(heads) != 1:
                raise LedgerError(
                    f"ledger {self.address}: its head is missing or there twice, so nothing can be chained to it; run "
                    f"`airflow-anon ledger verify`, and restore the ledger"
                )
            yield connection, dict(heads[0])


def _append(connection: sa.Connection, head: Mapping[str, Any], document: Mapping[str, Any]) -> Entry:
    text = canonical_json(dict(document))
    entry = _chained(columns_of(document), text, head)
    connection.execute(sa.insert(release_ledger).values(**vars(entry)))
    connection.execute(sa.insert(release_document).values(sequence=entry.sequence, document=text))
    connection.execute(sa.update(ledger_head).values(sequence=entry.sequence, entry_sha256=entry.entry_sha256))
    if entry.release_id is not None:
        pending.withdraw(connection, entry.job, entry.release_id)
    return entry


def _chained(columns: Mapping[str, Any], document: str, head: Mapping[str, Any]) -> Entry:
    row = {
        **columns,
        "sequence": head["sequence"] + 1,
        "recorded_at": _now(),
        "document_sha256": text_sha256(document),
        "previous_sha256": head["entry_sha256"],
    }
    return Entry(**row, entry_sha256=entry_sha256(row))


def _known(connection: sa.Connection, columns: Mapping[str, Any]) -> Entry | None:
    if columns["outcome"] == "released":
        return _one(connection, *_same(release_ledger, **{name: columns[name] for name in ("job", "release_id")}))
    same = _same(release_ledger, **{name: columns[name] for name in _ATTEMPT})
    return _one(connection, *same, _entry.outcome != "released")


def _one(connection: sa.Connection, *where: Any) -> Entry | None:
    row = connection.execute(sa.select(*verify.cells()).where(*where).limit(1)).mappings().one_or_none()
    return None if row is None else Entry.of_cells(dict(row))


def _same(table: sa.Table, **columns: Any) -> list[Any]:
    """Return the conditions under which columns have these values; what no database can hold is in none."""
    if not all(is_storable(value) for value in columns.values()):
        return [sa.false()]
    return [table.c[name] == value for name, value in columns.items()]


def _now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
