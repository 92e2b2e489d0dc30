"""The database of a ledger, SQLite or PostgreSQL: consistent read transactions and exclusive write transactions.

SQLite's driver begins transactions late and commits before DDL, so each transaction here begins with an explicit BEGIN;
a writer takes the lock at once. No connection is kept between transactions, so that a process may fork at any time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.transport.others_in_path import ask_in_new_sessions, others_in_path
from airflow_anon.transport.prepared_statements import prepare_nothing
from airflow_anon.transport.sqlite_remedies import sqlite_remedy

WAIT_FOR_LOCK_SECONDS = 60


def engine_of(url_or_engine: str | sa.URL | sa.Engine) -> sa.Engine:
    """Return an engine for a ledger; nothing is opened yet.

    Raises
    ------
    LedgerError
        The URL cannot be read, or is not of a database that can hold a ledger.
    """
    if isinstance(url_or_engine, sa.Engine):
        engine = url_or_engine
        return _sqlite_engine(engine.url) if engine.dialect.name == "sqlite" else _asking(_checked(engine))
    url = _url(url_or_engine)
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    if url.get_backend_name() != "postgresql":
        raise _of_no_ledger(url)  # before its driver is looked for, which would be of no use
    try:
        engine = _checked(sa.create_engine(url, poolclass=sa.NullPool, hide_parameters=True))
    except (sa.exc.ArgumentError, ImportError) as problem:
        raise LedgerError(
            f"ledger {masked(url)}: has no driver ({type(problem).__name__}); install airflow-anon[postgres]"
        ) from None
    return _asking(prepare_nothing(engine))


def masked(url: sa.URL) -> str:
    """Return a URL without its password and its parameters, which may hold one."""
    return url.set(query={}).render_as_string(hide_password=True)


def is_there(engine: sa.Engine) -> bool:
    """Whether there is a database to open; for a server always true, as only opening it would tell."""
    return engine.dialect.name != "sqlite" or _path(engine.url).exists()


def make_file(engine: sa.Engine) -> None:
    """Create the file of a SQLite ledger if it is missing, readable by its owner only."""
    if is_there(engine):
        return
    try:
        os.close(os.open(_path(engine.url), os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as problem:
        raise LedgerUnreachable(
            f"ledger {_path(engine.url)}: cannot be created ({problem.strerror}); its folder must be there, "
            "and the user that runs this must be able to write it"
        ) from None


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give a connection whose statements all see one state of the ledger."""
    with _database_errors(engine, "read"), engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")  # noqa: PLW2901 (the same one)
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give a connection in an atomic transaction; on SQLite it is the only writer from the start."""
    with _database_errors(engine, "written"), engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            # A statement that waited for a lock must see what the lock's last holder wrote.
            connection = connection.execution_options(isolation_level="READ COMMITTED")  # noqa: PLW2901 (the same one)
        else:
            connection = connection.execution_options(ledger_begin="IMMEDIATE")  # noqa: PLW2901 (the same one)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_FOR_LOCK_SECONDS}s'")
            yield connection


def _url(given: str | sa.URL) -> sa.URL:
    try:
        url = sa.make_url(given)
    except (sa.exc.ArgumentError, ValueError):
        # The address and the library's text are not quoted: both may hold the password.
        raise LedgerError(
            "ledger: its address must be a SQLAlchemy URL, such as postgresql://user:password@host/db"
        ) from None
    if url.drivername == "postgres":
        url = url.set(drivername="postgresql")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg2" if find_spec("psycopg2") else "postgresql+psycopg")
    return url


def _checked(engine: sa.Engine) -> sa.Engine:
    if engine.dialect.name != "postgresql" or engine.dialect.is_async:
        raise _of_no_ledger(engine.url)
    return engine


def _of_no_ledger(url: sa.URL) -> LedgerError:
    return LedgerError(
        f"ledger {masked(url)}: must be a SQLite or PostgreSQL database with a driver that is not asynchronous, such "
        f"as psycopg2"
    )


def _asking(engine: sa.Engine) -> sa.Engine:
    """Let each new session begin with the question who else may create in its search path."""

    def refuse_others(connection: Any) -> None:
        found = others_in_path(connection)
        if found is not None:
            harm = "change the ledger, or what is read of it"
            instead = "to the schema of the ledger's tables alone, which nobody else may own or create in"
            raise LedgerError(f"ledger {masked(engine.url)}: {found.refusal(harm, instead)}")

    return ask_in_new_sessions(engine, refuse_others)


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    if not url.database or url.database.startswith((":memory:", "file:")) or url.query:
        raise LedgerError(
            "ledger: a SQLite URL must name a file and nothing else: sqlite:////path/of/the/ledger.sqlite"
        )
    address = f"{Path(url.database).absolute().as_uri()}?mode=rw"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, timeout=WAIT_FOR_LOCK_SECONDS, isolation_level=None)

    absolute = sa.URL.create("sqlite", database=str(Path(url.database).absolute()))
    engine = sa.create_engine(absolute, creator=connect, poolclass=sa.NullPool, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # This package writes only UTF-8: other bytes must be reported by the check, not stop it.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('ledger_begin', 'DEFERRED')}")

    return engine


def _path(url: sa.URL) -> Path:
    return Path(str(url.database))


@contextmanager
def _database_errors(engine: sa.Engine, done: str) -> Iterator[None]:
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as problem:
        origin = getattr(problem, "orig", None) or problem
        text = (str(origin).strip().splitlines() or [""])[0]
        if engine.url.password:
            text = text.replace(str(engine.url.password), "***")
        raise LedgerUnreachable(
            f"ledger {masked(engine.url)}: cannot be {done}: {type(origin).__name__}: {text}{sqlite_remedy(text)}"
        ) from None
