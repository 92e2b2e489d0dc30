"""The ledger: its lock, which every write holds (`publishing`), and its queries.

The lock is the row of `ledger_head` (PostgreSQL: SELECT ... FOR UPDATE; SQLite: BEGIN IMMEDIATE), so that every writer
sees what the last one wrote, and no entry is written twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from airflow_anon.disclosure.fingerprints import with_told_fingerprint
from airflow_anon.ledger import database, pending, verify
from airflow_anon.ledger.entries import same
from airflow_anon.ledger.entry import OF_NO_ATTEMPT, Entry, Pending
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.migrate import any_part, migrate, revision_of
from airflow_anon.ledger.publishing import Publishing
from airflow_anon.ledger.schema import REVISIONS, ledger_head, release_document, release_ledger
from airflow_anon.ledger.standing import current_of, withdrawal_of
from airflow_anon.ledger.verify import Break

_entry = release_ledger.c


class Ledger(Publishing):
    """A ledger in SQLite or PostgreSQL.

    Every method opens its own connection, so that one object serves many threads. It raises `LedgerUnreachable` if the
    database cannot be reached, and `LedgerError` if a newer version of this package wrote the ledger.

    Parameters
    ----------
    url_or_engine : str or sqlalchemy.URL or sqlalchemy.Engine
        Nothing is opened or created before the first use; a ledger that does not exist reads as an empty one.
    """

    def __init__(self, url_or_engine: str | sa.URL | sa.Engine) -> None:
        self._engine = database.engine_of(url_or_engine)
        self._is_current = False

    @property
    def sqlite_file(self) -> Path | None:
        """The file of a ledger in SQLite; None for one on a server."""
        return Path(str(self._engine.url.database)) if self._engine.dialect.name == "sqlite" else None

    @property
    def address(self) -> str:
        """Where the ledger is, without a password."""
        return database.masked(self._engine.url)

    def exists(self) -> bool:
        """Whether this ledger exists."""
        with self._reading() as connection:
            return connection is not None

    def migrate(self) -> None:
        """Create the ledger, or bring its schema up to date; harmless if it is already."""
        migrate(self._engine)
        self._is_current = True

    def pending(self, job: str | None = None) -> list[Pending]:
        """Return the publications that have begun but have no entry yet, oldest first."""
        with self._reading() as connection:
            return [] if connection is None else pending.pending(connection, job)

    def entry(self, sequence: int) -> Entry | None:
        """Return one entry; None if there is no such number."""
        return self._first(*same(release_ledger, sequence=sequence))

    def document(self, sequence: int) -> dict[str, Any]:
        """Return the document of an entry, without a fingerprint that was made without a key.

        Raises
        ------
        LedgerError
            It is missing or cannot be read.
        """
        query = sa.select(release_document.c.document).where(*same(release_document, sequence=sequence))
        with self._reading() as connection:
            text: Any = None if connection is None else connection.execute(query).scalar()
        try:
            document = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise LedgerError(f"entry {sequence}: its document is missing or cannot be read")
        return with_told_fingerprint(document)

    def of_run(self, dag_id: str, run_id: str) -> list[Entry]:
        """Return the entries of a DAG run, newest first."""
        return self._entries(*same(release_ledger, dag_id=dag_id, run_id=run_id))

    def released(self, job: str, release_id: str) -> Entry | None:
        """Return the entry of a release."""
        return self._first(*same(release_ledger, job=job, release_id=release_id, outcome="released"))

    def of_release(self, release_id: str, manifest_sha256: str) -> Entry | None:
        """Return the entry of a release, whichever job it is of."""
        known = {"release_id": release_id, "manifest_sha256": manifest_sha256, "outcome": "released"}
        return self._first(*same(release_ledger, **known))

    def withdrawal(self, job: str, release_id: str) -> Entry | None:
        """Return the entry by which a release was recalled or removed; None if it was not."""
        return withdrawal_of(self._entries(*same(release_ledger, job=job, release_id=release_id)), release_id)

    def of_job(self, job: str, limit: int | None = None, outcome: str | None = None) -> list[Entry]:
        """Return the entries of a job, newest first, `limit` at most."""
        outcomes = {} if outcome is None else {"outcome": outcome}
        return self._entries(*same(release_ledger, job=job, **outcomes), limit=limit)

    def current(self, job: str) -> Entry | None:
        """Return the release of a job that readers should have now."""
        return current_of(self.of_job(job))

    def current_before(self, entry: Entry) -> Entry | None:
        """Return the release of the entry's job that readers got when the entry was recorded; it may be a newer one."""
        return current_of(one for one in self.of_job(entry.job) if one.sequence < entry.sequence)

    def latest(self) -> list[Entry]:
        """Return the newest entry of an attempt of each job and DAG, newest first."""
        attempts = _entry.outcome.not_in(OF_NO_ATTEMPT)
        newest = sa.select(sa.func.max(_entry.sequence)).where(attempts).group_by(_entry.job, _entry.dag_id)
        return self._entries(_entry.sequence.in_(newest))

    def entries(self, limit: int | None = None) -> list[Entry]:
        """Return the entries of all jobs, newest first, `limit` at most."""
        return self._entries(limit=limit)

    def check_chain(self) -> list[Break]:
        """Return what is wrong with rows, links and head; documents are not read."""
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
        """Give a connection; None if there is no ledger."""
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
        # A ledger without its version must not read as empty; the check reports what is missing.
        return self._is_current or any_part(connection)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sa.Connection, Mapping[str, Any]]]:
        """Give a connection in a write transaction, and the head as the last writer left it."""
        if not self._is_current:
            self.migrate()
        with database.writing(self._engine) as connection:
            heads = connection.execute(sa.select(ledger_head).with_for_update()).mappings().all()
            if len(heads) != 1:
                raise LedgerError(
                    f"ledger {self.address}: must have exactly one head row, so nothing can be chained to it; run "
                    f"`airflow-anon ledger verify`, and restore the ledger"
                )
            yield connection, dict(heads[0])
