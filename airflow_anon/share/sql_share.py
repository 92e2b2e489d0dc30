"""A table of a SQL share that always has exactly one complete release.

A release is loaded into a separate table; then, in one transaction, the target gets its records and the books
(`sql_books`) its entry. Readers see either the old release or the new one. If the columns are the same, the
target stays the same table, with its privileges, indexes and views; otherwise it is replaced (`target_table`), or,
where CREATE and DROP commit, the release is refused (`switch_by_rows`).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.share.made_table import check_made, people_name, refuse_gone
from airflow_anon.share.sql_books import SqlBooks
from airflow_anon.share.sql_databases import TRANSACTIONAL_DDL, refuse_database
from airflow_anon.share.sql_grants import close_to_others, refuse_other_owner
from airflow_anon.share.sql_load import load, plain_schema, refuse_unfit_values
from airflow_anon.share.sql_obstacles import refuse_obstacles, refuse_other_records
from airflow_anon.share.sql_statistics import collect_anew, forget_statistics
from airflow_anon.share.sql_types import sql_columns
from airflow_anon.share.sql_views import TableViews
from airflow_anon.share.switch_by_rows import admit_alone, prepare_target, refuse_open, replace_rows
from airflow_anon.share.target_table import TargetTable
from airflow_anon.transport.connection import engine_of, quoted_name, run_plain
from airflow_anon.transport.relation import split_table
from engine import Count, Message

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from airflow_anon.share.made_table import MadeTable
    from airflow_anon.share.sql_comments import Comments

Outcome = Literal["loaded", "present", "older"]
_WAITING = "load_"
"""How the name of a table begins that holds a release until it is published."""
_log = logging.getLogger(__name__)


class SqlShare:
    """One table of a SQL share.

    Parameters
    ----------
    hook : DbApiHook
        Hook of the share's connection.
    table : str
        ``table`` or ``schema.table``.
    use_adbc : bool
        Load by ADBC if its driver keeps all types.
    linked : mapping of str to sequence of str, optional
        The released columns of each of several linked tables, whose records the table holds: each gets a view.
    comments : Comments, optional
        What is said of the table and its columns, set together with the records.
    made_inside : bool or None
        Whether its releases are made in its database; None where that is not known.
    job, job_of : optional
        As of `SqlBooks`.
    wait_seconds : int, optional
        As of `engine_of`.

    Raises
    ------
    AirflowFailException
        The database cannot switch releases in one transaction, or the name is none of a table.
    """

    def __init__(
        self,
        hook: Any,
        table: str,
        *,
        use_adbc: bool = True,
        linked: Mapping[str, Sequence[str]] | None = None,
        comments: Comments | None = None,
        made_inside: bool | None = False,
        job: str | None = None,
        job_of: Callable[[str, str], str | None] | None = None,
        wait_seconds: int | None = None,
    ) -> None:
        parts = split_table(table)
        if len(parts) > 2:  # noqa: PLR2004 (schema and table)
            raise AirflowFailException(f"output table {table!r}: write it as table or schema.table")
        self.hook = hook
        self.engine = engine_of(hook, create=True, wait_seconds=wait_seconds)
        refuse_database(self.engine.dialect.name, made_inside=made_inside)
        self._by_rows = self.engine.dialect.name not in TRANSACTIONAL_DDL
        self.name = parts[-1]
        self.schema = parts[0] if len(parts) > 1 else None
        self.use_adbc = use_adbc
        self._books = SqlBooks(self.name, self.schema, job, job_of)
        self._views = TableViews(self.schema, self.name, linked or {})
        self._target = TargetTable(self.schema, self.name, self._views, comments)

    @property
    def waiting(self) -> str | None:
        """Schema of releases that wait for publication: that of the connection where no table of one can be closed."""
        return None if self._by_rows else self.schema

    def refuse_unfit(self, connection: Connection) -> None:
        """Refuse a table that could not get a release, before one is made.

        Raises
        ------
        AirflowFailException
            What is in the way as of `sql_obstacles`; its books are a table of somebody else; or readers would see a
            release that waits for publication: the database cannot close a table to them, and the connection has the
            schema of the table.
        """
        if self._by_rows:
            refuse_open(connection, self.schema, self.name)
        else:
            self._books.refuse_foreign(connection)
        for name in (self.name, self._books.name):
            refuse_obstacles(connection, name, self.schema)

    def refuse_other_job(self) -> None:
        """Refuse a table with the releases of another job: each would replace the records of the other.

        Raises
        ------
        AirflowFailException
            Names that job.
        """
        with self.engine.connect() as connection:
            self._books.refuse_other_job(connection)

    @contextmanager
    def kept_if_whole(self, release_id: str) -> Iterator[None]:
        """Drop a release that was made within the block if that ends early, where no transaction takes it away."""
        try:
            yield
        except BaseException:
            if self._by_rows:
                try:
                    self.remove_leftovers(release_id)
                except Exception as problem:  # noqa: BLE001 (the end of the run drops it; the first error is told)
                    _log.warning("The table of the release is left until the run ends: %s", type(problem).__name__)
            raise

    def publish(
        self,
        release_id: str,
        manifest_sha256: str,
        data: Path,
        *,
        salt: str = "",
        held: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Outcome:
        """Load the release into the table.

        Parameters
        ----------
        data : Path
            Parquet file of the release.
        salt : str
            Of the hash of its content, kept beside the table.
        held : callable, optional
            The switch is committed within the returned context.

        Returns
        -------
        {"loaded", "present", "older"}
            Loaded now; present already, so nothing changed; or older than the table's release, so nothing changed. An
            emptied table has none: any release is loaded.

        Raises
        ------
        AirflowFailException
            The table was not made by this operator and is not empty; or see `refuse_unfit`, `refuse_other_job` and
            `refuse_unfit_values`.
        """
        refuse_unfit_values(data)
        self._books.make(self.engine)
        with self.engine.connect() as connection:
            self._books.refuse_other_job(connection)
            known = self._known(connection, release_id)
            self._refuse_foreign_target(connection)
        if known is not None:
            self.remove_leftovers(release_id)
            return known
        with self._staging_table(release_id, data) as staging:
            rows = load(data, staging, self.engine, self.hook, use_adbc=self.use_adbc)
            return self._switch(staging, release_id, {"manifest_sha256": manifest_sha256, "salt": salt}, rows, held)

    def publish_made(
        self,
        release_id: str,
        manifest_sha256: str,
        made: MadeTable,
        *,
        held: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Outcome:
        """Publish a release that was made in this database, if it is still what it was; see `publish`.

        Raises
        ------
        AirflowFailException
            As `publish`, or the table that was made is gone or was changed.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        self._books.make(self.engine)
        with self.engine.connect() as connection:
            self._books.refuse_other_job(connection)
            known = self._known(connection, release_id)
            self._refuse_foreign_target(connection)
            if known is None:
                refuse_gone(connection, self.waiting, made)
        if known is not None:
            self.remove_leftovers(release_id)
            return known
        table = sa.Table(made["name"], sa.MetaData(), schema=self.waiting, autoload_with=self.engine)
        told = {"manifest_sha256": manifest_sha256, "salt": made["salt"]}
        if self._by_rows:
            with self.engine.connect() as connection:
                prepare_target(connection, table, self._books.table, self.name)
        outcome = self._switch(table, release_id, told, made["rows"], held, made)
        if self._by_rows:
            self.remove_leftovers(release_id)
        return outcome

    def empty(self, release_id: str, manifest_sha256: str) -> bool:
        """Delete the records of a release that the table has now, and what statistics tell of them.

        The table stays, empty, with privileges and columns.

        Returns
        -------
        bool
            False if the table has another release, or there is none.

        Raises
        ------
        AirflowFailException
            Something of the table keeps or hides records; none is deleted.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        with self.engine.connect() as connection:
            if not self._books.exist(connection):
                return False
        options = {"sqlite_begin": "IMMEDIATE"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            self._lock(connection)
            held = self._books.newest(connection)
            if held is None or held[:2] != (release_id, manifest_sha256) or not self._target.exists(connection):
                return False
            self._target.take(connection)
            connection.execute(sa.delete(sa.table(self.name, schema=self.schema)))
            refuse_other_records(connection, self.name, self.schema, 0)
            forget_statistics(connection, self.name, self.schema)
        collect_anew(self.engine, self.name, self.schema)
        return True

    def remove_leftovers(self, release_id: str) -> None:
        """Remove the staging table left by a killed try to load the release, and what says whose its records are."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        for left in self._waiting_names(release_id):
            sa.Table(left, sa.MetaData(), schema=self.waiting).drop(self.engine, checkfirst=True)

    def leftovers(self) -> Callable[[str], bool] | None:
        """Return what tells of a release id whether a table of it waits, or was left; None if there is no such table.

        The names do not tell whose they are.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        every = sa.inspect(self.engine).get_table_names(schema=self.waiting)
        names = {name for name in every if name.startswith(_WAITING)}
        return (lambda release_id: not names.isdisjoint(self._waiting_names(release_id))) if names else None

    def manifest_of(self, release_id: str) -> str | None:
        """Return the hash of the manifest of a loaded release, None if the release was never loaded."""
        with self.engine.connect() as connection:
            return self._books.manifest_of(connection, release_id) if self._books.exist(connection) else None

    def newest_of_job(self) -> str | None:
        """Return the id of the release that the table holds, if it is known to be of this job."""
        with self.engine.connect() as connection:
            held = self._held(connection) if self._books.exist(connection) else None
            return held if held is not None and self._books.is_of_job(connection, held) else None

    def newest(self) -> str | None:
        """Return the id of the release that the table holds, None before the first and where it was emptied."""
        with self.engine.connect() as connection:
            return self._held(connection) if self._books.exist(connection) else None

    def sqlite_file(self) -> Path | None:
        """Return the file of a share in SQLite, None for a share on a server."""
        if self.engine.dialect.name != "sqlite":
            return None
        with self.engine.connect() as connection:
            _, _, file = connection.exec_driver_sql("PRAGMA database_list").one()
        return Path(file)

    def _known(self, connection: Connection, release_id: str) -> Outcome | None:
        if self._books.manifest_of(connection, release_id) is not None:
            return "present"
        held = self._held(connection)
        return "older" if held is not None and held > release_id else None

    def _held(self, connection: Connection) -> str | None:
        """Return the id of the newest release in the books; None if the table has nothing of it, as after a recall.

        Else a release of a date that is wrong would keep out all others, also when it is recalled.
        """
        newest = self._books.newest(connection)
        if newest is None:
            return None
        return newest.release_id if newest.rows == 0 or self._has_records(connection) else None

    def _has_records(self, connection: Connection) -> bool:
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        target = sa.table(self.name, schema=self.schema)
        one = sa.select(sa.literal(1)).select_from(target).limit(1)
        return self._target.exists(connection) and connection.scalar(one) is not None

    def _refuse_foreign_target(self, connection: Connection) -> None:
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        if self.name in sa.inspect(connection).get_view_names(schema=self.schema):
            raise AirflowFailException(f"output table {self.name!r}: is a view; name a table or a new name")
        self.refuse_unfit(connection)
        is_known = self._books.newest(connection) is not None
        self._views.refuse_foreign(connection, is_known=is_known)
        if not is_known and self._has_records(connection):
            raise AirflowFailException(
                f"output table {self.name!r}: has records and is not a release ({self._books.name!r} does not "
                f"know it), so it is not replaced; name another table or empty this one"
            )

    @contextmanager
    def _staging_table(self, release_id: str, data: Path) -> Iterator[Table]:
        """Yield a new table with the release's columns, dropped at the end; an earlier one is dropped first."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        dialect = self.engine.dialect.name
        columns, prefixes = sql_columns(plain_schema(data), dialect), _words_of_waiting(dialect)
        staging = sa.Table(
            self.staging_name(release_id), sa.MetaData(), *columns, schema=self.schema, prefixes=prefixes
        )
        # SQLite refuses at once who has read and then wants to write while another one waits to write
        writing = self.engine.execution_options(sqlite_begin="IMMEDIATE")
        staging.drop(writing, checkfirst=True)
        try:
            with writing.begin() as connection:
                staging.create(connection)
                quoted = quoted_name(connection.dialect, self.schema, staging.name)
                # default privileges of a schema would give it to readers before it is published
                close_to_others(connection, quoted)
                refuse_other_owner(connection, quoted)
            yield staging
        finally:
            staging.drop(writing, checkfirst=True)

    def staging_name(self, release_id: str) -> str:
        """Return the name of the table that holds a release until it is published."""
        digest = hashlib.sha256(f"{self.name}/{release_id}".encode()).hexdigest()
        return f"{_WAITING}{digest[:16]}"

    def _waiting_names(self, release_id: str) -> tuple[str, str]:
        name = self.staging_name(release_id)
        return name, people_name(name)

    def _switch(
        self,
        staging: Table,
        release_id: str,
        told: Mapping[str, str],
        rows: int,
        held: Callable[[], AbstractContextManager[None]],
        made: MadeTable | None = None,
    ) -> Outcome:
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        options = {"sqlite_begin": "IMMEDIATE"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin() as switch:
            self._lock(connection)
            self._books.refuse_other_job(connection)
            known = self._known(connection, release_id)
            if known is not None:
                return known
            if made is not None and not self._by_rows:
                # nobody can change it any more
                waiting = quoted_name(connection.dialect, self.schema, staging.name)
                run_plain(connection, f"LOCK TABLE {waiting} IN ACCESS EXCLUSIVE MODE")
                check_made(connection, self.schema, made)
            loaded = connection.scalar(sa.select(sa.func.count()).select_from(staging))
            if loaded != rows:
                raise AirflowException(
                    Message.of(
                        "output table {name!r}: {loaded} of {rows} records arrived; try again",
                        name=self.name,
                        loaded=Count(loaded),
                        rows=Count(rows),
                    )
                )
            if made is not None and self._by_rows:
                replace_rows(connection, staging, made, self.name, self.schema)
            else:
                self._target.fill(connection, staging, rows, is_made=made is not None)
            if made is not None and not self._by_rows:
                # whose the records are was for the validation
                sa.Table(people_name(made["name"]), sa.MetaData(), schema=self.schema).drop(connection, checkfirst=True)
            self._books.enter(connection, release_id, told, rows)
            with held():
                switch.commit()
        return "loaded"

    def _lock(self, connection: Connection) -> None:
        """Admit one publisher at a time; in SQLite BEGIN IMMEDIATE has done this already."""
        if self._by_rows:
            admit_alone(connection, self.schema, self.name)
        elif connection.dialect.name == "postgresql":
            run_plain(connection, f"LOCK TABLE {self._books.quoted(connection.dialect)} IN SHARE ROW EXCLUSIVE MODE")


def _words_of_waiting(dialect: str) -> list[str]:
    from airflow_anon.dialects.registry import DIALECTS  # noqa: PLC0415 (heavy imports belong into execute)

    return list(DIALECTS[dialect].unlogged) if dialect in DIALECTS else []
