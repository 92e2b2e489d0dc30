"""The table that readers of a SQL share have, where CREATE, DROP and RENAME belong to a transaction.

In: a connection within the transaction that switches the share, and the staging table with the records of a release.
Out: the same table with these records; or, where the release has other columns, the staging table in its place, with
the privileges that the target had.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowException

from airflow_anon.share.sql_grants import grants_on
from airflow_anon.share.sql_obstacles import (
    refuse_changed_records,
    refuse_loss,
    refuse_obstacles,
    refuse_other_records,
)
from airflow_anon.share.sql_types import types_in
from airflow_anon.transport.connection import WAIT_FOR_LOCK_MILLISECONDS, names_of, quoted_name, run_plain

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from airflow_anon.share.sql_comments import Comments
    from airflow_anon.share.sql_views import TableViews

LOCK_NOT_GIVEN = "55P03"
"""What PostgreSQL says of a lock that was not given in time."""
_log = logging.getLogger(__name__)


class TargetTable:
    """One table of a share.

    Parameters
    ----------
    schema : str or None
    name : str
    views : TableViews
        Those of its linked tables.
    comments : Comments or None
        What is said of the table and its columns, set together with the records.
    """

    def __init__(self, schema: str | None, name: str, views: TableViews, comments: Comments | None) -> None:
        self._schema = schema
        self._name = name
        self._views = views
        self._comments = comments

    def exists(self, connection: Connection) -> bool:
        """Whether there is a table of the name."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        return sa.inspect(connection).has_table(self._name, schema=self._schema)

    def take(self, connection: Connection) -> None:
        """Keep others from writing into the target, and from giving it what `sql_obstacles` refuses; readers go on."""
        if connection.dialect.name == "postgresql":
            run_plain(connection, f"LOCK TABLE {self._quoted(connection, self._name)} IN SHARE ROW EXCLUSIVE MODE")
        refuse_obstacles(connection, self._name, self._schema)

    def fill(self, connection: Connection, staging: Table, rows: int, *, is_made: bool) -> None:
        """Give the target the records of the staging table, which has `rows` of them.

        A release that waited in PostgreSQL does not become the target where there is none: that is made anew, so it
        gets the privileges that new tables have, its records are logged, and subscribers get them.

        Parameters
        ----------
        is_made : bool
            Whether the staging table was made in this database, so that it is dropped with the switch.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        exists = self.exists(connection)
        if exists:
            self.take(connection)
        if connection.dialect.name == "postgresql" and not exists:
            staging.to_metadata(sa.MetaData(), name=self._name).create(connection)
            exists = True
        same = exists and self._types(connection, self._name) == self._types(connection, staging.name)
        with self._waiting_briefly(connection):
            views = self._views.dropped(connection, all_of_them=not same)
            if not same:
                self._replace_target(connection, staging, exists=exists)
        if same:
            target = staging.to_metadata(sa.MetaData(), name=self._name)
            connection.execute(target.delete())
            names = [column.name for column in staging.columns]
            connection.execute(target.insert().from_select(names, sa.select(staging)))
            refuse_other_records(connection, self._name, self._schema, rows)
            refuse_changed_records(connection, self._name, self._schema, staging)
            if is_made:
                staging.drop(connection)
        self._views.make(connection, views)
        if self._comments is not None:
            for name in (self._name, *self._views.names):
                self._comments.set_on(connection, name, self._schema)

    @contextmanager
    def _waiting_briefly(self, connection: Connection) -> Iterator[None]:
        """Wait for readers of what the block replaces for a minute at most: new ones wait behind whoever waits.

        Raises
        ------
        AirflowException
            Somebody reads it for longer.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        if connection.dialect.name != "postgresql":
            yield
            return
        # a role may have a shorter time
        wait = f"set_config('lock_timeout', '{WAIT_FOR_LOCK_MILLISECONDS}', true)"
        run_plain(connection, f"SELECT {wait} WHERE current_setting('lock_timeout') = '0'")
        try:
            yield
        except sa.exc.DBAPIError as problem:
            state = getattr(problem.orig, "sqlstate", None) or getattr(problem.orig, "pgcode", None)
            if state != LOCK_NOT_GIVEN:
                raise
            raise AirflowException(
                f"output table {self._name!r}: must be replaced, since the release has other columns, and somebody "
                "keeps on reading it or one of its views; let that session end, and try again"
            ) from None
        run_plain(connection, "SET LOCAL lock_timeout TO DEFAULT")

    def _replace_target(self, connection: Connection, staging: Table, *, exists: bool) -> None:
        target = self._quoted(connection, self._name)
        grants = grants_on(connection, target) if exists else []
        if exists:
            refuse_loss(connection, self._name, self._schema)
            before, now = self._types(connection, self._name), self._types(connection, staging.name)
            others = sorted({name for name, _ in before.items() ^ now.items()})
            _log.warning(
                "Table %s: is made anew, as the release has other columns or types (%s); its grants stay, its indexes "
                "do not",
                self._name,
                ", ".join(map(repr, others)),
            )
            run_plain(connection, f"DROP TABLE {target}")
        if connection.dialect.name == "postgresql":
            # a table that is not logged is empty after a crash of the server
            run_plain(connection, f"ALTER TABLE {self._quoted(connection, staging.name)} SET LOGGED")
        plain = names_of(connection.dialect).quote(self._name)
        run_plain(connection, f"ALTER TABLE {self._quoted(connection, staging.name)} RENAME TO {plain}")
        for grant in grants:
            run_plain(connection, grant)

    def _types(self, connection: Connection, table: str) -> dict[str, str]:
        return types_in(connection, self._schema, table)

    def _quoted(self, connection: Connection, table: str) -> str:
        return quoted_name(connection.dialect, self._schema, table)
