"""The Arrow type of each column that is read, known before the first record if the database can give it.

A type guessed from the first batch fails on a batch of nulls, or at the first value that does not fit. PostgreSQL and
MariaDB give the types of a result; SQLite has no column types, so its values are counted by type first. For any other
database the types follow from the values (see `parquet.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.column import LARGEST_DECIMAL, Column, arrow_type
from airflow_anon.transport.connection import names_of
from airflow_anon.transport.mariadb_columns import mariadb_column
from airflow_anon.transport.mariadb_session import is_mariadb
from airflow_anon.transport.relation import Relation

if TYPE_CHECKING:
    from sqlalchemy import Connection

_NUMERIC = 1700
_PLAIN_POSTGRES_TYPES = {
    16: "bool",
    17: "binary",
    19: "string",
    20: "int64",
    21: "int64",
    23: "int64",
    25: "string",
    700: "float64",
    701: "float64",
    1042: "string",
    1043: "string",
    1082: "date32",
    1083: "time64",
    1114: "timestamp",
    1184: "timestamp_utc",
}


def typed_columns(
    connection: Connection, relation: Relation, description: Sequence[Sequence[Any]], wanted: Sequence[str]
) -> list[Column]:
    """Return how each wanted column is read.

    Parameters
    ----------
    description : sequence
        DBAPI description of the relation, see `relation.describe`.
    wanted : sequence of str
        The columns to read, in the order of the output.
    """
    quote = names_of(connection.dialect).quote
    if connection.dialect.name == "sqlite":
        return _sqlite_columns(connection, relation, wanted)
    if connection.dialect.name == "postgresql":
        entries = {entry[0]: entry for entry in description}
        return [_postgres_column(entries[name], quote(name)) for name in wanted]
    if is_mariadb(connection.dialect):
        entries = {entry[0]: entry for entry in description}
        return [mariadb_column(entries[name], quote(name)) for name in wanted]
    return [Column(name, quote(name)) for name in wanted]


def _postgres_column(entry: Sequence[Any], name: str) -> Column:
    code, precision, scale = entry[1], entry[4], entry[5]
    if code == _NUMERIC and precision is not None and 0 < precision <= LARGEST_DECIMAL and 0 <= scale <= precision:
        return Column(entry[0], name, arrow_type("decimal", precision, scale))
    if code in _PLAIN_POSTGRES_TYPES:
        return Column(entry[0], name, arrow_type(_PLAIN_POSTGRES_TYPES[code]))
    # uuid, json, enumerations, intervals, arrays, numeric without a scale: as text they lose nothing.
    return Column(entry[0], f"CAST({name} AS text)", arrow_type("string"))


def _sqlite_columns(connection: Connection, relation: Relation, wanted: Sequence[str]) -> list[Column]:
    preparer = names_of(connection.dialect)
    kinds = ("integer", "real", "text", "blob")
    counts = ", ".join(f"max(typeof({preparer.quote(name)}) = '{kind}')" for name in wanted for kind in kinds)
    row = connection.exec_driver_sql(f"SELECT {counts} FROM {relation.from_clause(preparer)}").one()
    found = [
        {kind for kind, there in zip(kinds, row[start : start + len(kinds)], strict=True) if there}
        for start in range(0, len(row), len(kinds))
    ]
    return [_sqlite_column(name, preparer.quote(name), present) for name, present in zip(wanted, found, strict=True)]


def _sqlite_column(name: str, quoted: str, kinds: set[str]) -> Column:
    if "blob" in kinds:
        if kinds != {"blob"}:
            raise AirflowFailException(f"column {name!r}: mixes bytes with other values; cast it to text in a query")
        return Column(name, quoted, arrow_type("binary"))
    if "text" in kinds or not kinds:
        return Column(name, f"CAST({quoted} AS TEXT)", arrow_type("string"))
    if "real" in kinds:
        return Column(name, f"CAST({quoted} AS REAL)", arrow_type("float64"))
    return Column(name, quoted, arrow_type("int64"))
