"""Comments of a table of a SQL share and of its columns: what was done to them, for who has no release folder.

In: the texts. Out: comments, where the database has them and sets them within a transaction: PostgreSQL. One that
somebody else has written stays. Who may load a table that is not theirs sets none: only an owner may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_anon.transport.connection import quoted_name, run_plain

if TYPE_CHECKING:
    from sqlalchemy import Connection

OURS = "De-identified"
"""With which every comment of a release begins."""

# The server quotes names and texts, as its own settings say.
_OF_TABLE = """
SELECT format('COMMENT ON %s %s IS %L', CASE class.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, class.oid::regclass,
    CAST(:text AS text))
FROM pg_catalog.pg_class AS class
WHERE class.oid = CAST(:name AS regclass) AND pg_has_role(class.relowner, 'USAGE')
    AND starts_with(coalesce(obj_description(class.oid, 'pg_class'), :ours), :ours)
"""
_OF_COLUMN = """
SELECT format('COMMENT ON COLUMN %s.%I IS %L', class.oid::regclass, attribute.attname, CAST(:text AS text))
FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attname = :column
WHERE class.oid = CAST(:name AS regclass) AND pg_has_role(class.relowner, 'USAGE')
    AND starts_with(coalesce(col_description(class.oid, attribute.attnum), :ours), :ours)
"""


@dataclass(frozen=True)
class Comments:
    """What is said of a table.

    Attributes
    ----------
    table : str
        What the table is.
    columns : mapping of str to str
        What each column holds.
    """

    table: str
    columns: Mapping[str, str]

    def set_on(self, connection: Connection, name: str, schema: str | None) -> None:
        """Set them on a table, or on a view, which may have fewer columns, within the transaction of a connection."""
        from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

        if connection.dialect.name != "postgresql":
            return
        told = {"name": quoted_name(connection.dialect, schema, name), "ours": OURS}
        found = connection.scalars(text(_OF_TABLE), {**told, "text": f"{OURS} {self.table}"}).all()
        for column, note in self.columns.items():
            asked = {**told, "column": column, "text": f"{OURS}: {note}"}
            found = [*found, *connection.scalars(text(_OF_COLUMN), asked)]
        for statement in found:
            run_plain(connection, statement)
