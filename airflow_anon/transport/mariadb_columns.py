"""The Arrow type of a column of MariaDB, and the SQL that gives its values whole.

In: the description of a result's column, as drivers give it. Out: how it is read. Texts and bytes have the same codes
there, so that their types follow from the values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_anon.transport.column import LARGEST_DECIMAL, Column, arrow_type
from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.relation import Relation

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BYTES, _UNSIGNED = 63, 32
"""The character set of what is no text, and the flag of a number without a sign."""
_TINY, _FLOAT, _TIME, _BIT = 1, 4, 11, 16
_DECIMALS = (0, 246)
_TYPES = {
    1: "int64",
    2: "int64",
    3: "int64",
    5: "float64",
    7: "timestamp_utc",
    8: "int64",
    9: "int64",
    10: "date32",
    12: "timestamp",
    13: "int64",
    14: "date32",
}
"""By code of the protocol: https://mariadb.com/docs/server/reference/clientserver-protocol/4-server-response-packets."""


def mariadb_column(entry: Sequence[Any], name: str) -> Column:
    """Return how a column is read.

    Parameters
    ----------
    entry : sequence
        Its DBAPI description: name, code of its type, ..., at 3 its length in characters, at 5 its scale.
    name : str
        Its name in SQL, quoted.
    """
    code, length, scale = entry[1], entry[3], entry[5]
    if code == _TINY and length == 1:  # BOOLEAN is another word for TINYINT(1)
        return Column(entry[0], name, arrow_type("bool"), _booleans)
    if code == _FLOAT:  # of which the server writes six digits, so that different numbers would be the same
        return Column(entry[0], f"CAST({name} AS DOUBLE)", arrow_type("float64"))
    if code == _BIT:
        return Column(entry[0], f"CAST({name} AS UNSIGNED)", arrow_type("int64"))
    if code == _TIME:
        return Column(entry[0], name, arrow_type("time64"), _times)
    if code in _DECIMALS:
        return _decimal(entry[0], name, length, scale)
    return Column(entry[0], name, arrow_type(_TYPES[code]) if code in _TYPES else None)


def told_columns(
    connection: Connection, relation: Relation, names: Sequence[str] | None, *, is_ours: bool = False
) -> list[Column]:
    """Return how columns of a relation are read where their types must be known before a value is.

    Parameters
    ----------
    names : sequence of str or None
        None for all.
    is_ours : bool
        Whether the relation is a table of ours: a decimal number has then the digits with which it was made.
    """
    preparer = names_of(connection.dialect)
    asked = f"SELECT * FROM {relation.from_clause(preparer)} WHERE 1 = 0"
    result = connection.exec_driver_sql(asked, execution_options=PLAIN)
    # PyMySQL has no other way to tell texts from bytes
    entries = zip(result.keys(), result.cursor.description, result.cursor._result.fields, strict=True)  # noqa: SLF001
    found = {
        name: _told((name, *entry[1:]), field, preparer.quote(name), is_ours=is_ours) for name, entry, field in entries
    }
    result.close()
    return list(found.values()) if names is None else [found[name] for name in names]


def _told(entry: Sequence[Any], field: Any, name: str, *, is_ours: bool) -> Column:
    column = mariadb_column(entry, name)
    if column.type is None:
        if field.charsetnr == _BYTES:
            return Column(column.name, name, arrow_type("binary"))
        return Column(column.name, f"CONVERT({name} USING utf8mb4)", arrow_type("string"))
    if is_ours and entry[1] in _DECIMALS:
        signs = (1 if entry[5] else 0) + (0 if field.flags & _UNSIGNED else 1)
        return Column(column.name, name, arrow_type("decimal", entry[3] - signs, entry[5]))
    return column


def _decimal(column: str, name: str, length: int, scale: int) -> Column:
    # a place for the point, and one for the sign, unless it is UNSIGNED, which is not told
    digits = length - (1 if scale else 0)
    if digits > LARGEST_DECIMAL + 1:
        return Column(column, f"CAST({name} AS CHAR)", arrow_type("string"))
    return Column(column, name, arrow_type("decimal", min(digits, LARGEST_DECIMAL), scale))


def _booleans(values: Sequence[int | None]) -> list[bool | None]:
    if not {0, 1, None}.issuperset(values):
        raise ValueError("another number than 0 and 1")
    return [None if value is None else bool(value) for value in values]


def _times(values: Sequence[dt.timedelta | None]) -> list[dt.time | None]:
    """Return times of a day; MariaDB's TIME may be longer, or less than nothing."""
    midnight, day = dt.datetime(1, 1, 1), dt.timedelta(days=1)  # noqa: DTZ001 (a time of a day has no zone)
    if any(value is not None and not dt.timedelta() <= value < day for value in values):
        raise ValueError("a time that is none of a day")
    return [None if value is None else (midnight + value).time() for value in values]
