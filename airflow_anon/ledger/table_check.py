"""Reads the table of a SQL share as its readers do: which release it says to hold, and the hash of what it holds.

In: the table of an entry. Out: what was found, of one moment, in bounded memory. No value of a record leaves the
process, and no error of a database is raised: it is a state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_anon.transport.content_hash import ContentHash
from airflow_anon.transport.release_files import BOOKKEEPING
from airflow_anon.transport.table_content import hash_of_content

if TYPE_CHECKING:
    from sqlalchemy import ColumnClause, Connection, Engine

    from airflow_anon.ledger.form_publication import Content

BOOKED = ("release_id", "manifest_sha256", "rows", "salt")
"""Columns of the books that are read."""
WAIT_SECONDS = 10
"""Longest time to wait for a database that does not answer."""


@dataclass(frozen=True, kw_only=True)
class FoundTable:
    """What a table holds.

    Attributes
    ----------
    release_id, manifest_sha256 : str or None
        The newest release that it says to hold; None if it says nothing.
    sha256 : str or None
        Hash of its content; None if it was not read, because none was asked for or it has too many records.
    is_readable : bool
        Whether columns and cells are of the kinds that a release has; without them there is no hash.
    """

    release_id: str | None
    manifest_sha256: str | None
    sha256: str | None = None
    is_readable: bool = True


class TableUnreachable(Exception):  # noqa: N818 (it is a state, not a failure)
    """The database of the share cannot be asked now, or from here: why, without values and passwords.

    Attributes
    ----------
    kind : str
        The class of the error, which the ledger may keep: it names no machine.
    """

    def __init__(self, why: str, kind: str) -> None:
        super().__init__(why)
        self.kind = kind


class TableRefused(TableUnreachable):
    """The database answers, and is not asked, as somebody else's functions would be called: who, and the fix."""


def read_table(
    conn_id: str, table: str, content: Content | None, *, rows_up_to: int | None = None
) -> FoundTable | None:
    """Read a table of a SQL share; None if it is not there.

    Parameters
    ----------
    conn_id, table : str
        As in the entry.
    content : Content or None
        What it held at the release, by whose columns and method it is hashed; None to read no record.
    rows_up_to : int, optional
        Read no record of a table that says to hold more; by default all are read.

    Raises
    ------
    TableUnreachable
        The connection is not defined here, or the database does not answer.
    TableRefused
        Somebody else may create in the search path of the connection's role.
    """
    from airflow.providers.common.compat.sdk import AirflowException  # noqa: PLC0415 (a ledger needs no Airflow)
    from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError  # noqa: PLC0415 (heavy imports belong into execute)

    from airflow_anon.transport.connection import engine_of, hook_of, password_of  # noqa: PLC0415 (needs Airflow)
    from airflow_anon.transport.failure import explain  # noqa: PLC0415 (needs Airflow)
    from airflow_anon.transport.relation import split_table  # noqa: PLC0415 (needs Airflow)
    from airflow_anon.transport.search_path import SearchPathRefused  # noqa: PLC0415 (needs Airflow)

    secret = None
    try:
        parts = split_table(table)
        hook = hook_of(conn_id)
        secret = password_of(hook)
        engine = engine_of(hook, wait_seconds=WAIT_SECONDS)
        return _found(engine, parts[-1], parts[0] if len(parts) > 1 else None, content, rows_up_to)
    except NoSuchTableError:
        return None
    except SearchPathRefused as problem:
        raise TableRefused(str(problem), type(problem).__name__) from None
    except AirflowException as problem:
        raise TableUnreachable(str(problem), type(problem).__name__) from None
    except (SQLAlchemyError, OSError, ImportError) as problem:
        text = explain(problem)
        told = text.replace(secret, "***") if secret else text
        raise TableUnreachable(told, type(problem).__name__) from None


def _found(
    engine: Engine, name: str, schema: str | None, content: Content | None, rows_up_to: int | None
) -> FoundTable | None:
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    # The table and its books are read as of one moment; a publisher is not kept waiting on a server.
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        inspector = sa.inspect(connection)
        if not inspector.has_table(name, schema=schema):
            return None
        books = _booked(connection, name, schema)
        told = FoundTable(release_id=books.get("release_id"), manifest_sha256=books.get("manifest_sha256"))
        rows = books.get("rows")
        if content is None or (rows_up_to is not None and isinstance(rows, int) and rows > rows_up_to):
            return told
        kinds = {column.name: column.kind for column in content.columns}
        columns = {column["name"] for column in inspector.get_columns(name, schema=schema)}
        if columns != set(kinds) or name in inspector.get_view_names(schema=schema):
            return replace(told, is_readable=False)
        empty = ContentHash(kinds, str(books.get("salt")), method=content.method)
        sha256 = hash_of_content(connection, name, schema, empty)
        return replace(told, sha256=sha256, is_readable=sha256 is not None)


def _booked(connection: Connection, name: str, schema: str | None) -> dict[str, Any]:
    """Return what the books of a table say of the newest release; nothing without books."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    inspector = sa.inspect(connection)
    if not inspector.has_table(f"{name}{BOOKKEEPING}", schema=schema):
        return {}
    there = {column["name"] for column in inspector.get_columns(f"{name}{BOOKKEEPING}", schema=schema)}
    # Earlier versions kept no salt.
    asked: list[ColumnClause[Any]] = [sa.column(one) for one in BOOKED if one in there]
    if not asked or asked[0].name != BOOKED[0]:
        return {}
    books = sa.table(f"{name}{BOOKKEEPING}", *asked, schema=schema)
    found = connection.execute(sa.select(*asked).select_from(books).order_by(asked[0].desc()).limit(1))
    return dict(found.mappings().one_or_none() or {})
