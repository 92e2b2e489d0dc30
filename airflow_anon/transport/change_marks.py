"""How a warehouse says when a row was written: the SQL of its mark, a whole number, and of rows above a mark.

A mark is the number in the column, or the whole seconds since 1970 of a moment. A row without a mark, and one whose
moment is no point in time, is always read. Moments without a time zone may be those of any zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.connection import PLAIN, names_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.transport.relation import Relation

DIALECTS = ("postgresql", "sqlite")
ZONES_SECONDS = 12 * 3600
"""No clock on earth is further behind UTC."""
_BOOLEAN = 16
_INTEGERS = (20, 21, 23)
_DATE, _TIMESTAMP, _TIMESTAMP_WITH_ZONE = 1082, 1114, 1184
_MOMENTS = (_DATE, _TIMESTAMP, _TIMESTAMP_WITH_ZONE)


@dataclass(frozen=True)
class Marks:
    """The marks of one column.

    Attributes
    ----------
    column : str
        Quoted.
    mark : str
        SQL of the mark of a row, null if it has none.
    moment : str
        SQL of a point in time as the column has it, with ``{}`` for the seconds; "" for numbers.
    unclear : str
        SQL that is true of a row without a mark.
    now : str
        SQL of the mark that a row would have that is written now; "" for numbers, which have no clock.
    """

    column: str
    mark: str
    unclear: str
    moment: str = ""
    now: str = ""

    def since(self, mark: int) -> str:
        """Return SQL that is true of rows at or above a mark, and of those without one."""
        bound = self.moment.format(mark) if self.moment else str(mark)
        return f"({self.column} >= {bound} OR {self.unclear})"


def marks_of(
    connection: Connection, relation: Relation, description: Sequence[Sequence[Any]], column: str, key: str
) -> Marks:
    """Return the marks of a column.

    Parameters
    ----------
    description : sequence
        DBAPI description of the relation.
    key : str
        Key of the job that names the column, for errors.

    Raises
    ------
    AirflowFailException
        The column is missing, or holds neither whole numbers nor moments.
    """
    quoted = names_of(connection.dialect).quote(column)
    code = _code(description, column, key)
    if connection.dialect.name == "postgresql":
        return _postgres_marks(code, quoted, _unfit(key, column))
    kinds = _sqlite_kinds(connection, relation, quoted)
    if kinds <= {"integer"}:
        return Marks(quoted, quoted, f"{quoted} IS NULL")
    if kinds != {"text"}:
        raise AirflowFailException(_unfit(key, column))
    seconds = f"CAST(strftime('%s', {quoted}) AS INTEGER)"
    now = f"CAST(strftime('%s', 'now') AS INTEGER) - {ZONES_SECONDS}"
    return Marks(seconds, seconds, f"{seconds} IS NULL", "{}", now)


def _postgres_marks(code: Any, quoted: str, unfit: str) -> Marks:
    if code in _INTEGERS:
        return Marks(quoted, f"CAST({quoted} AS bigint)", f"{quoted} IS NULL")
    if code not in _MOMENTS:
        raise AirflowFailException(unfit)
    moment = "to_timestamp({})" if code == _TIMESTAMP_WITH_ZONE else "(to_timestamp({}) AT TIME ZONE 'UTC')"
    if code == _DATE:
        moment = f"CAST({moment} AS date)"
    behind = 0 if code == _TIMESTAMP_WITH_ZONE else ZONES_SECONDS
    seconds = "CAST(floor(extract(epoch FROM {})) AS bigint)"
    return Marks(
        quoted,
        f"CASE WHEN isfinite({quoted}) THEN {seconds.format(quoted)} END",
        f"{quoted} IS NULL OR NOT isfinite({quoted})",
        moment,
        f"{seconds.format('now()')} - {behind}",
    )


def is_deleted(connection: Connection, relation: Relation, description: Sequence[Sequence[Any]], column: str) -> str:
    """Return SQL that is true or false of each row: whether a column marks it as deleted.

    Raises
    ------
    AirflowFailException
        The column is missing, or holds neither truth values nor whole numbers nor moments.
    """
    key = "incremental.deleted"
    quoted = names_of(connection.dialect).quote(column)
    code = _code(description, column, key)
    unfit = f"{key}: column {column!r} must hold truth values, whole numbers or moments; convert it in a query"
    if connection.dialect.name == "postgresql":
        if code == _BOOLEAN:
            return f"{quoted} IS TRUE"
        if code in _INTEGERS:
            return f"COALESCE({quoted}, 0) <> 0"
        if code in _MOMENTS:
            return f"{quoted} IS NOT NULL"
        raise AirflowFailException(unfit)
    kinds = _sqlite_kinds(connection, relation, quoted)
    if kinds <= {"integer"}:
        return f"COALESCE({quoted}, 0) <> 0"
    unread = f"SELECT max({quoted} IS NOT NULL AND julianday({quoted}) IS NULL) FROM {_clause(connection, relation)}"
    if kinds != {"text"} or connection.exec_driver_sql(unread, execution_options=PLAIN).scalar():
        raise AirflowFailException(unfit)
    return f"{quoted} IS NOT NULL"


def _unfit(key: str, column: str) -> str:
    return f"{key}: column {column!r} must hold whole numbers or moments; convert it in a query, or name another one"


def _code(description: Sequence[Sequence[Any]], column: str, key: str) -> Any:
    """Return the type code of a column of a relation."""
    found = [entry[1] for entry in description if entry[0] == column]
    if len(found) != 1:
        raise AirflowFailException(f"{key}: is {column!r}, must be one column of what is read; correct the name")
    return found[0]


def _sqlite_kinds(connection: Connection, relation: Relation, quoted: str) -> set[str]:
    """Return the storage classes of a column's values, without null."""
    statement = f"SELECT DISTINCT typeof({quoted}) FROM {_clause(connection, relation)}"
    rows = connection.exec_driver_sql(statement, execution_options=PLAIN)
    return {kind for (kind,) in rows} - {"null"}


def _clause(connection: Connection, relation: Relation) -> str:
    return relation.from_clause(names_of(connection.dialect))
