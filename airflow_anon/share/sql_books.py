"""The books of a table of a SQL share: which releases it has had, in a table `<table>_release` beside it.

In: a table's name, and the job that fills it. Out: its newest release, the hash of a release's manifest, and the entry
of a release, made in the transaction that gives the table its records. Salts of contents stand here and not in the
ledger.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.connection import names_of, run_plain
from airflow_anon.transport.release_files import BOOKKEEPING

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Engine, Table

_ADDED_LATER = ("salt", "job")
"""Columns that the books of earlier versions lack."""
_log = logging.getLogger(__name__)


class Booked(NamedTuple):
    """A release in the books: its id, the hash of its manifest, and its records."""

    release_id: str
    manifest_sha256: str
    rows: int


class SqlBooks:
    """The books of one table.

    Parameters
    ----------
    target : str
        Name of the table whose releases are booked.
    schema : str or None
    job : str, optional
        The job whose releases the table holds; without it nobody asks whose they are.
    job_of : callable, optional
        Returns the job of a release, by its id and the hash of its manifest, if it is known: books of earlier versions
        do not name the job.
    """

    def __init__(
        self,
        target: str,
        schema: str | None,
        job: str | None = None,
        job_of: Callable[[str, str], str | None] | None = None,
    ) -> None:
        self._target = target
        self._schema = schema
        self._job = job
        self._job_of = job_of

    @property
    def name(self) -> str:
        """Name of the table that the books are."""
        return f"{self._target}{BOOKKEEPING}"

    @cached_property
    def table(self) -> Table:
        """The books as SQLAlchemy writes them."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        return sa.Table(
            self.name,
            sa.MetaData(),
            sa.Column("release_id", sa.String(64), primary_key=True),
            sa.Column("manifest_sha256", sa.String(64), nullable=False),
            sa.Column("rows", sa.BigInteger, nullable=False),
            sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("salt", sa.String(64)),
            sa.Column("job", sa.Text),
            schema=self._schema,
        )

    def quoted(self, dialect: Dialect) -> str:
        """Return the name as statements have it."""
        return names_of(dialect).format_table(self.table)

    def exist(self, connection: Connection) -> bool:
        """Whether there is a table of the name."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        return sa.inspect(connection).has_table(self.name, schema=self._schema)

    def newest(self, connection: Connection) -> Booked | None:
        """Return the newest release in the books, which exist; None if they are empty."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        columns = self.table.c
        asked = sa.select(columns.release_id, columns.manifest_sha256, columns.rows)
        found = connection.execute(asked.order_by(columns.release_id.desc()).limit(1)).one_or_none()
        return None if found is None else Booked(*found)

    def manifest_of(self, connection: Connection, release_id: str) -> str | None:
        """Return the hash of the manifest of a release, None if the books, which exist, do not have it."""
        return self._told(connection, release_id, "manifest_sha256")

    def refuse_foreign(self, connection: Connection) -> None:
        """Refuse a table of somebody else that has the name of the books, before anything of it is changed.

        Raises
        ------
        AirflowFailException
            Names what it lacks.
        """
        if not self.exist(connection):
            return
        lacking = {column.name for column in self.table.columns} - {*_ADDED_LATER} - self._columns(connection)
        if lacking:
            raise AirflowFailException(
                f"output table {self._target!r}: {self.name!r} would book its releases, and is a table of something "
                f"else (it has no column {', '.join(sorted(lacking))}); name another output table"
            )

    def refuse_other_job(self, connection: Connection) -> None:
        """Refuse a table with the releases of another job: each would replace the records of the other.

        Raises
        ------
        AirflowFailException
            Names that job.
        """
        if self._job is None or not self.exist(connection):
            return
        newest = self.newest(connection)
        if newest is None:
            return
        owner = self._job_in(connection, newest.release_id)
        if owner is None and self._job_of is not None:
            owner = self._job_of(newest.release_id, newest.manifest_sha256)
        if owner is not None and owner != self._job:
            raise AirflowFailException(
                f"output table {self._target!r}: holds releases of job {owner}, which this one of job {self._job} "
                f"would replace; name another table, or, if that job is no more, empty this one and {self.name!r}"
            )

    def is_of_job(self, connection: Connection, release_id: str) -> bool:
        """Whether the books, which exist, name this job for a release; those of earlier versions name none."""
        return self._job is not None and self._job_in(connection, release_id) == self._job

    def make(self, engine: Engine) -> None:
        """Make the books where there are none, and give those of earlier versions the columns that they lack.

        Raises
        ------
        AirflowFailException
            See `refuse_foreign`.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        with engine.connect() as connection:
            self.refuse_foreign(connection)
        _once_more(lambda: self.table.create(engine, checkfirst=True))
        _once_more(lambda: self._add_column(engine, "salt", "VARCHAR(64)"))
        try:
            _once_more(lambda: self._add_column(engine, "job", "TEXT"))
        except sa.exc.DBAPIError as problem:
            # who may only fill the books goes on without: of these releases the ledger tells the job
            _log.warning(
                "%s gets no column for the job of a release (%s); give its owner's rights to who publishes",
                self.name,
                type(problem.orig).__name__,
            )

    def enter(self, connection: Connection, release_id: str, told: Mapping[str, str], rows: int) -> None:
        """Book a release, which is now the newest one: later ones, of an emptied table, go.

        Parameters
        ----------
        told : mapping
            `manifest_sha256` and `salt`.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        now = dt.datetime.now(dt.timezone.utc)
        entry = {"release_id": release_id, **told, "rows": rows, "published_at": now}
        if "job" in self._columns(connection):
            entry["job"] = self._job
        connection.execute(sa.delete(self.table).where(self.table.c.release_id > release_id))
        connection.execute(self.table.insert(), entry)

    def _job_in(self, connection: Connection, release_id: str) -> str | None:
        """Return the job that the books name for a release; those of earlier versions name none."""
        return self._told(connection, release_id, "job") if "job" in self._columns(connection) else None

    def _told(self, connection: Connection, release_id: str, column: str) -> str | None:
        """Return what a column of texts says of a release; None too if the books do not have it."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        asked = sa.select(self.table.c[column]).where(self.table.c.release_id == release_id)
        found: str | None = connection.scalar(asked)
        return found

    def _columns(self, connection: Connection) -> set[str]:
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        return {column["name"] for column in sa.inspect(connection).get_columns(self.name, self._schema)}

    def _add_column(self, engine: Engine, name: str, kind: str) -> None:
        with engine.connect() as connection:
            known = self._columns(connection)
        if name not in known:
            statement = f"ALTER TABLE {self.quoted(engine.dialect)} ADD COLUMN {name} {kind}"
            with engine.begin() as connection:
                run_plain(connection, statement)


def _once_more(change: Callable[[], None]) -> None:
    """Make a change; if two make it at once, the second one fails in the database and then finds it made."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        change()
    except sa.exc.DBAPIError:
        change()
