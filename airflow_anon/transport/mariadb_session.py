"""The session in which MariaDB is read, and how a statement that runs in it is ended.

In: a connection that was just opened. Out: the same one, in which a query means what it means elsewhere, and nothing
can be written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Engine

SETTINGS = (
    # Double quotes are around names, and a backslash is a plain character: so is read what may be told of a query.
    "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    # in which the server gives columns of type TIMESTAMP
    "SET SESSION time_zone = '+00:00'",
    # All records are as they were at one time, whatever the default of the server.
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
)


def is_mariadb(dialect: Dialect) -> bool:
    """Whether a dialect is that of MariaDB, or of MySQL, over whose drivers it is reached too."""
    return dialect.name in {"mariadb", "mysql"}


def begin_sessions(engine: Engine) -> None:
    """Have each new connection of an engine begin with `SETTINGS`."""
    from sqlalchemy import event  # noqa: PLC0415 (heavy imports belong into execute)

    @event.listens_for(engine, "connect")
    def _connect(connection: object, _record: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        for setting in SETTINGS:
            cursor.execute(setting)
        cursor.close()


def by_bytes(name: str) -> str:
    """Return SQL by which texts are compared as they are: most collations hold "a", "A" and "a " for the same."""
    return f"CAST({name} AS BINARY)"


def ending(connection: Connection) -> Callable[[], None]:
    """Return a function that ends the statement that a connection runs, by another connection to the same server."""
    engine = connection.engine
    thread = int(connection.connection.driver_connection.thread_id())  # type: ignore[union-attr]

    def end() -> None:
        with engine.connect() as other:
            other.exec_driver_sql(f"KILL QUERY {thread}")

    return end
