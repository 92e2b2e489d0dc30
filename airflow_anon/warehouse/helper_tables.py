"""The tables that a run inside a database makes: helpers, which are gone at its end, and those of the release.

In: a connection, and the table of the release, whose schema and name they have. Out: tables of SQLAlchemy that are
there, each the role's own. A role needs the right to create in that schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlalchemy as sa

from airflow_anon.share.sql_grants import refuse_other_owner
from airflow_anon.share.sql_types import sql_type
from airflow_anon.transport import postgresql_copy
from airflow_anon.transport.connection import names_of, run_plain
from airflow_anon.warehouse import postgresql_bulk
from airflow_anon.warehouse.read_parts import BATCH_ROWS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.dialects.dialect import Dialect


class HelperTables:
    """Makes the tables of a run.

    Parameters
    ----------
    target : Table
        That of the release.
    how : Dialect
        What the database does.
    is_kept : bool
        Whether the table of the release outlives the connection.
    """

    def __init__(self, connection: Connection, target: sa.Table, how: Dialect, *, is_kept: bool) -> None:
        self._connection = connection
        self._target = target
        self._how = how
        self._is_kept = is_kept

    @property
    def text(self) -> Any:
        """The type of a text in tables of the database."""
        return sql_type(pa.field("text", pa.string()), self._connection.dialect.name)

    def make(self, what: str, columns: Sequence[sa.Column[Any]]) -> sa.Table:
        """Create a helper table."""
        how = self._how
        name = f"{how.temporary_name}{self._target.name}_{what}"
        prefixes = [*how.temporary, *how.unlogged]
        schema = self._target.schema
        return self._made(sa.Table(name, sa.MetaData(), *columns, schema=schema, prefixes=prefixes, **how.options))

    def make_kept(self, name: str, columns: Sequence[sa.Column[Any]]) -> sa.Table:
        """Create a table that outlives the connection, if the release does."""
        prefixes = [*(() if self._is_kept else self._how.temporary), *self._how.unlogged]
        return self._made(sa.Table(name, sa.MetaData(), *columns, schema=self._target.schema, prefixes=prefixes))

    def filled(self, table: sa.Table, *keys: Sequence[str]) -> None:
        """Prepare a table that is full for being looked up by some columns."""
        for statement in self._how.filled(names_of(self._connection.dialect), table, keys):
            run_plain(self._connection, statement)

    def fill(self, table: sa.Table, rows: Sequence[Sequence[Any]], key: Sequence[str]) -> None:
        """Write rows into a table that is looked up by a key."""
        if postgresql_copy.serves(self._connection):
            postgresql_bulk.copy_rows(self._connection, table, rows)
        else:
            self._insert(table, rows)
        self.filled(table, key)

    def _insert(self, table: sa.Table, rows: Sequence[Sequence[Any]]) -> None:
        names = [column.name for column in table.c]
        for start in range(0, len(rows), BATCH_ROWS):
            part = [dict(zip(names, row, strict=True)) for row in rows[start : start + BATCH_ROWS]]
            self._connection.execute(table.insert(), part)

    def _made(self, table: sa.Table) -> sa.Table:
        table.create(self._connection)
        refuse_other_owner(self._connection, names_of(self._connection.dialect).format_table(table))
        return table
