"""From an Airflow connection id to a SQLAlchemy engine and the parameters of an ADBC driver."""

from __future__ import annotations

import re
import sqlite3
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    BaseHook,
)

from airflow_anon.transport.mariadb_session import begin_sessions, is_mariadb
from airflow_anon.transport.postgresql_session import names_as_they_are
from airflow_anon.transport.prepared_statements import prepare_nothing
from airflow_anon.transport.search_path import refuse_in_new_sessions

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Engine
    from sqlalchemy.sql.compiler import IdentifierPreparer

WAIT_FOR_LOCK_MILLISECONDS = 60_000
WAIT_SECONDS = 15
"""How long somebody who waits for an answer waits for a server."""


def hook_of(conn_id: str) -> Any:
    """Return the SQL hook of a connection.

    Raises
    ------
    AirflowFailException
        There is no such connection, or it is not a database: a retry does not help.
    """
    try:
        hook = BaseHook.get_hook(conn_id)
    except AirflowNotFoundException:
        raise AirflowFailException(
            f"connection {conn_id!r} is not defined: add it in Airflow under Admin, Connections, "
            f"or set the environment variable AIRFLOW_CONN_{conn_id.upper()}"
        ) from None
    except (AirflowException, ImportError) as problem:
        raise AirflowFailException(
            f"connection {conn_id!r}: its type has no hook ({problem}); {_fix_of(str(problem))}"
        ) from None
    if not hasattr(hook, "get_sqlalchemy_engine"):
        raise AirflowFailException(f"connection {conn_id!r}: is no database that SQLAlchemy can read; name another one")
    return hook


def _fix_of(problem: str) -> str:
    """Return what to do where Airflow has no hook for a connection, by the words in which it says so."""
    if '""' in problem:
        return "give the connection a type: an address begins with it, as in postgresql://host/database"
    if "postgres" in problem:
        return "pip install airflow-anon[postgres]"
    if "mysql" in problem:
        return (
            "for MariaDB give it the type mariadb, of airflow-anon[mariadb]; for MySQL install Airflow's own provider"
        )
    return "correct the type, or install the provider of this database"


def password_of(hook: Any) -> str | None:
    """Return the connection's password, which messages must not contain."""
    return hook.connection.password or None


def driver_parameters(hook: Any) -> dict[str, Any]:
    """Return the extras of the connection that belong to the driver, such as sslmode.

    The hook's SQLAlchemy URL leaves them out, so `sslmode: require` would silently have no effect.
    """
    ignored = getattr(hook, "ignored_extra_options", None)
    if ignored is None:
        return {}
    return {name: value for name, value in hook.connection.extra_dejson.items() if name not in ignored}


def sqlite_address(hook: Any, *, create: bool) -> str:
    """Return the address of a SQLite file as SQLite's URI; without `create` a missing file is an error."""
    path = hook.get_uri().removeprefix("sqlite:///")
    # With two slashes at the beginning the first folder would be read as a host.
    address = "file:" + re.sub(r"^/+", "/", path)
    if create or "mode=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}mode=rw"


def sqlite_file(hook: Any) -> Path | None:
    """Return the file of a SQLite database; None of another database, or of one in memory."""
    if hook.conn_type != "sqlite":
        return None
    name = urllib.parse.unquote(sqlite_address(hook, create=True).removeprefix("file:").partition("?")[0])
    return Path(name) if name.startswith("/") else None


def engine_of(hook: Any, *, create: bool = False, wait_seconds: int | None = None, asks_path: bool = True) -> Engine:
    """Return an engine without a pool; its errors never show parameters, which would be records.

    Parameters
    ----------
    create : bool
        Whether the database is written: a missing SQLite file is created, and a session of MariaDB may write. A
        mistyped source must not become an empty one.
    wait_seconds : int, optional
        Longest time to wait for a PostgreSQL or MariaDB server that does not answer; by default the driver's.
    asks_path : bool
        False for who asks each new session of PostgreSQL who else may create in its path, and refuses it in own words.

    Returns
    -------
    Engine
        Of PostgreSQL each new session raises `AirflowFailException` where `search_path` refuses it.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    options: dict[str, Any] = {"hide_parameters": True, "poolclass": sa.NullPool}
    if hook.conn_type != "sqlite":
        may_wait = wait_seconds is not None and hook.conn_type in {"postgres", "mariadb"}
        waits = {"connect_timeout": wait_seconds} if may_wait else {}
        # else a driver reads and writes texts in that of the database, or of the role, which may lack letters
        texts = {"client_encoding": "utf8"} if hook.conn_type == "postgres" else {}
        engine = hook.get_sqlalchemy_engine({**options, "connect_args": {**texts, **waits, **driver_parameters(hook)}})
        if is_mariadb(engine.dialect):
            begin_sessions(engine, writes=create)
        engine = names_as_they_are(prepare_nothing(engine))
        return refuse_in_new_sessions(engine) if asks_path else engine
    address = sqlite_address(hook, create=create)
    engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), **options)
    _whole_transactions(engine)
    return engine


def names_of(dialect: Dialect) -> IdentifierPreparer:
    """Return what quotes names for statements without parameters, in which a percent sign is a plain character.

    The dialect's own one doubles percent signs, which only a statement with parameters takes back.
    """
    preparer = dialect.preparer(dialect)
    preparer._double_percents = False  # noqa: SLF001 (SQLAlchemy has no other way to say it)
    return preparer


def quoted_name(dialect: Dialect, schema: str | None, name: str) -> str:
    """Return the name of a table or a view for statements without parameters, with its schema if it has one."""
    quote = names_of(dialect).quote
    return f"{quote(schema)}.{quote(name)}" if schema else quote(name)


PLAIN = {"no_parameters": True}
"""Execution options of a statement of plain text, whose names are quoted by `names_of`."""


def run_plain(connection: Connection, statement: str) -> None:
    """Run a statement of plain text whose result nobody reads."""
    connection.exec_driver_sql(statement, execution_options=PLAIN)


def _whole_transactions(engine: Engine) -> None:
    """Turn off the transactions of SQLite's Python driver, which begins none before DDL."""
    from sqlalchemy import event  # noqa: PLC0415 (heavy imports belong into execute)

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {WAIT_FOR_LOCK_MILLISECONDS}")
        # else records of earlier and of recalled releases stay in free pages of a file that readers have
        connection.execute("PRAGMA secure_delete = ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        mode = connection.get_execution_options().get("sqlite_begin", "")
        connection.exec_driver_sql(f"BEGIN {mode}")
