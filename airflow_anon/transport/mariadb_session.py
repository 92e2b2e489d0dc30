"""The session in which MariaDB is read or written, and how a statement that runs in it is ended.

In: a connection that was just opened. Out: the same one, in which a query means what it means elsewhere, and nothing
can be written, or nothing that a column would not hold as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Engine

# Double quotes are around names, and a backslash is a plain character: so is read what may be told of a query.
_MODE = "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"
# in which the server gives columns of type TIMESTAMP
_ZONE = "SET SESSION time_zone = '+00:00'"
# of which a statement would give the first records alone, without a word
_ALL = "SET SESSION sql_select_limit = 18446744073709551615"
READING = (
    f"SET SESSION sql_mode = '{_MODE}'",
    _ZONE,
    _ALL,
    # All records are as they were at one time, whatever the default of the server.
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
)
WRITING = (
    # A value that a column does not hold is an error, rather than another value.
    f"SET SESSION sql_mode = '{_MODE},STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    _ZONE,
    _ALL,
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    # New tables have transactions, whatever the default of the server.
    "SET SESSION default_storage_engine = InnoDB",
    # Who drops a table waits so many seconds for a statement that uses it.
    "SET SESSION lock_wait_timeout = 60",
)


def is_mariadb(dialect: Dialect) -> bool:
    """Whether a dialect is that of MariaDB, or of MySQL, over whose drivers it is reached too."""
    return dialect.name in {"mariadb", "mysql"}


def begin_sessions(engine: Engine, *, writes: bool) -> None:
    """Have each new connection of an engine begin with `READING` or `WRITING`."""
    from sqlalchemy import event  # noqa: PLC0415 (heavy imports belong into execute)

    # first of all: SQLAlchemy asks a new connection how it quotes names
    @event.listens_for(engine, "connect", insert=True)
    def _connect(connection: object, _record: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        for setting in WRITING if writes else READING:
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
