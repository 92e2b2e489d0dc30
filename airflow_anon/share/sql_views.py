"""Views of a table of a SQL share that holds the records of several linked tables: one view for each of them.

In: the table's names, and the columns of each linked table. Out: views `TABLE_NAME` beside the table, made and replaced
within the transaction that switches it. A view that is as it should be stays the same, with its privileges. In
PostgreSQL it is a barrier: else who may read one view alone calls a function on the records of all linked tables, since
the planner may call it before it looks which table a record is of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.share.sql_grants import grants_on
from airflow_anon.transport.connection import names_of, quoted_name, run_plain
from engine import TABLE_COLUMN

if TYPE_CHECKING:
    from sqlalchemy import Connection


_BARRIER = """
SELECT format('ALTER VIEW %s SET (security_barrier = true)', class.oid::regclass) FROM pg_catalog.pg_class AS class
WHERE class.oid = CAST(:name AS regclass) AND pg_has_role(class.relowner, 'USAGE')
    AND NOT 'security_barrier=true' = ANY (coalesce(class.reloptions, CAST('{}' AS text[])))
"""


def view_name(table: str, linked: str) -> str:
    """Return the name of the view of a linked table, beside the table of the share."""
    return f"{table}_{linked}"


class TableViews:
    """The views of one table of a share.

    Parameters
    ----------
    schema, table : str
        Of the table that has the records of all.
    columns : mapping of linked table to sequence of str
        The released columns of each; nothing for the table of a job without linked tables.
    """

    def __init__(self, schema: str | None, table: str, columns: Mapping[str, Sequence[str]]) -> None:
        self._schema = schema
        self._table = table
        self._linked = {view_name(table, name): (name, list(own)) for name, own in columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the views."""
        return tuple(self._linked)

    def refuse_foreign(self, connection: Connection, *, is_known: bool) -> None:
        """Refuse names that something else has.

        Parameters
        ----------
        is_known : bool
            Whether the table holds releases of ours: views of these names are then ours too.

        Raises
        ------
        AirflowFailException
            A name is that of a table, or of a view that is not ours.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        inspector = sa.inspect(connection)
        tables = set(inspector.get_table_names(schema=self._schema)) if self._linked else set()
        views = set(inspector.get_view_names(schema=self._schema)) if self._linked else set()
        taken = (tables | (set() if is_known else views)) & set(self._linked)
        if taken:
            raise AirflowFailException(
                f"output table {self._table!r}: {', '.join(map(repr, sorted(taken)))} must become views of it, and are "
                "there already; name another table, or remove what has these names"
            )

    def dropped(self, connection: Connection, *, all_of_them: bool) -> dict[str, list[str]]:
        """Drop views that are to be made anew: all, or those with other columns than they must have.

        Returns
        -------
        dict of str to list of str
            The views to make, with the statements that give them the privileges of those they replace.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        inspector = sa.inspect(connection)
        there = set(inspector.get_view_names(schema=self._schema)) if self._linked else set()
        found: dict[str, list[str]] = {}
        for view, (_, wanted) in self._linked.items():
            if view not in there:
                found[view] = []
                continue
            present = [column["name"] for column in inspector.get_columns(view, schema=self._schema)]
            if all_of_them or present != wanted:
                quoted = quoted_name(connection.dialect, self._schema, view)
                found[view] = grants_on(connection, quoted)
                run_plain(connection, f"DROP VIEW {quoted}")
        return found

    def make(self, connection: Connection, views: Mapping[str, Sequence[str]]) -> None:
        """Make views, as of `dropped`, and let those that were there be barriers too, where they are ours."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        quote = names_of(connection.dialect).quote
        for view, grants in views.items():
            linked, columns = self._linked[view]
            listed = ", ".join(map(quote, columns))
            source = quoted_name(connection.dialect, self._schema, self._table)
            made = quoted_name(connection.dialect, self._schema, view)
            # names of linked tables have no quotes
            where = f"{quote(TABLE_COLUMN)} = '{linked}'"
            run_plain(connection, f"CREATE VIEW {made} AS SELECT {listed} FROM {source} WHERE {where}")
            for grant in grants:
                run_plain(connection, grant)
        for view in self._linked if connection.dialect.name == "postgresql" else ():
            named = {"name": quoted_name(connection.dialect, self._schema, view)}
            for statement in connection.scalars(sa.text(_BARRIER), named).all():
                run_plain(connection, statement)
