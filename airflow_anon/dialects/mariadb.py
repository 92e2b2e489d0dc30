"""MariaDB 10.10 and later: each CREATE TABLE commits, most collations hold different texts for the same.

So the source is copied by one statement into a temporary table, whose texts are compared by bytes; helper tables are
temporary, and gone with the session. At REPEATABLE READ an INSERT ... SELECT would lock the source and read it as it is
at that moment, not as of the snapshot: at READ COMMITTED it locks nothing, and each statement sees one moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowException
from sqlalchemy.dialects import mysql

from airflow_anon.dialects.dialect import Dialect, Told
from airflow_anon.dialects.letters import blanks

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.sql.compiler import IdentifierPreparer

COLLATION = "utf8mb4_nopad_bin"
_ALL_LETTERS = "utf8mb4_uca1400_as_cs"
"""By which LOWER knows the letters of Unicode 14; by most others it knows those of Unicode 3 or 5.2."""
_PARTS, _DIGITS = 4, 16
_PREFIX = 191
"""Characters of a long text that an index holds."""
_KEYS = 16
"""Columns of an index."""
WAIT_SECONDS = 60
"""How long a publisher waits for another one."""


def _bytewise(sql: str, kind: Any) -> str:
    # bare, so that an index is used
    if getattr(kind, "collation", None) == COLLATION:
        return sql
    return f"CONVERT({sql} USING utf8mb4) COLLATE {COLLATION}"


def _sums(records: sa.Subquery) -> sa.Select[Any]:
    parts = [
        sa.case((column.is_(None), "n"), else_=sa.func.concat("v", sa.func.hex(_text(column)))) for column in records.c
    ]
    hashed = sa.select(sa.func.sha2(sa.func.concat_ws(",", *parts), 256).label("hash")).subquery("hashed")
    numbers = [
        sa.cast(sa.func.conv(sa.func.substring(hashed.c.hash, 1 + _DIGITS * part, _DIGITS), 16, 10), sa.Numeric(20, 0))
        for part in range(_PARTS)
    ]
    return sa.select(sa.func.count(hashed.c.hash), *(sa.func.sum(one) for one in numbers)).select_from(hashed)


def _text(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return column if isinstance(column.type, sa.String | sa.LargeBinary) else sa.cast(column, sa.CHAR)


def _plain(text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    without_blanks = sa.func.regexp_replace(text, f"[{blanks()}]", "")
    return sa.func.lower(sa.collate(without_blanks, _ALL_LETTERS))


def _filled(preparer: IdentifierPreparer, table: sa.Table, keys: Sequence[Sequence[str]]) -> list[str]:
    """Index a helper table: without an index each record would be compared with each of its rows."""
    listed = [", ".join(_indexed(preparer, table.c[name]) for name in names[:_KEYS]) for names in keys]
    return [
        f"CREATE INDEX key{place} ON {preparer.format_table(table)} ({names})" for place, names in enumerate(listed)
    ]


def _indexed(preparer: IdentifierPreparer, column: sa.Column[Any]) -> str:
    is_long = isinstance(column.type, sa.String | sa.LargeBinary)
    return preparer.quote(column.name) + (f"({_PREFIX})" if is_long else "")


def _odd(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool] | None:
    """Another number than 0 and 1 would be read as true, and a time beyond a day as one of a day."""
    if isinstance(column.type, sa.Boolean):
        return sa.type_coerce(column, sa.Integer).not_in([0, 1])
    if isinstance(column.type, sa.Time):
        first, last = (
            sa.cast(sa.literal(one, sa.String(16)), mysql.TIME(fsp=6)) for one in ("00:00", "23:59:59.999999")
        )
        return sa.or_(column < first, column > last)
    return None


def _alone(connection: Connection, name: str) -> None:
    named = "release_" + hashlib.sha256(name.encode()).hexdigest()[:32]
    if connection.scalar(sa.select(sa.func.get_lock(named, WAIT_SECONDS))) != 1:
        raise AirflowException(f"output table {name!r}: another release is being published; try again")


def _without_transactions(connection: Connection, schema: str | None, names: Sequence[str]) -> list[str]:
    tables = sa.table("tables", *map(sa.column, ("table_schema", "table_name", "engine")), schema="information_schema")
    where = schema if schema is not None else sa.func.database()
    asked = sa.select(tables.c.table_name, tables.c.engine).where(tables.c.table_schema == where)
    found = dict(connection.execute(asked.where(tables.c.table_name.in_(names))).all())
    return [name for name in names if found.get(name) != "InnoDB"]


MARIADB = Dialect(
    name="mariadb",
    bytewise=_bytewise,
    # of cryptographic strength
    secret_random=lambda _: "RANDOM_BYTES(16)",
    types={
        "text": lambda: mysql.LONGTEXT(charset="utf8mb4", collation=COLLATION),
        "time": lambda: mysql.TIME(fsp=6),
        "moment": lambda: mysql.DATETIME(fsp=6),
        "moment in UTC": lambda: mysql.TIMESTAMP(fsp=6),
        "bytes": mysql.LONGBLOB,
    },
    sums=_sums,
    isolation="READ COMMITTED",
    copies=True,
    temporary=("TEMPORARY",),
    filled=_filled,
    odd=_odd,
    plain=_plain,
    alone=_alone,
    without_transactions=_without_transactions,
    told=Told(
        # database, command, column, global right, routine
        refused=(1044, 1142, 1143, 1227, 1370),
        cancelled=(1317, 1969),
        ended=(1927, 2006, 2013, 4031),
        busy=(1205, 1213),
        full=(1021, 1114),
        unfit={
            1290: "the server only reads (read_only), as a replica; let the connection lead to the primary server",
            1305: "MariaDB 10.10 or later is needed, which knows RANDOM_BYTES",
            1665: "the server must write its binary log by rows or mixed; set binlog_format there",
        },
        grants="GRANT SELECT on what source names, CREATE, CREATE TEMPORARY TABLES, DROP, SELECT, INSERT on the "
        "database of the connection, and CREATE, SELECT, INSERT, DELETE on that of output.table",
        room="the temporary files of the server (tmpdir, innodb_temp_data_file_path, tmp_disk_table_size)",
        longest_statement="max_statement_time of the user",
        longest_transaction="wait_timeout and idle_transaction_timeout",
    ),
)
