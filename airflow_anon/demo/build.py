"""Builds the warehouse in one step, on SQLite and on PostgreSQL."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, insert, inspect, make_url, select, text

from airflow_anon.demo.generate import generate
from airflow_anon.demo.load import load
from airflow_anon.demo.schema import INDEXES, MARKER, METADATA, VIEWS

_CONTENT_VERSION = 1  # increases with every change of the generator
_LOCK_KEY = 0x64656D6F  # an arbitrary number that nobody else uses
_SIDECARS = ("-wal", "-journal")


class ForeignWarehouseError(RuntimeError):
    """The database has tables that do not belong to a demo warehouse."""


def checked_url(url_or_engine: str | URL | Engine) -> URL:
    """Return the URL of a database that can hold the warehouse.

    Raises
    ------
    ValueError
        It is neither an SQLite file nor PostgreSQL.
    """
    url = make_url(url_or_engine.url if isinstance(url_or_engine, Engine) else url_or_engine)
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg2")
    if url.get_backend_name() != "sqlite":
        raise ValueError(f"database {url.get_backend_name()!r}: allowed are 'sqlite' and 'postgresql'")
    if url.database in (None, "", ":memory:") or url.query:
        raise ValueError("the SQLite URL must name a plain file, such as sqlite:///warehouse.db")
    return url


@contextmanager
def opened(url: URL) -> Iterator[Engine]:
    """Yield an engine that is disposed of at the end, and whose errors contain no values."""
    engine = create_engine(url, hide_parameters=True)
    try:
        yield engine
    finally:
        engine.dispose()


def build(url: URL, persons: int, seed: int) -> bool:
    """Build the warehouse unless it exists; return whether it was built."""
    if url.get_backend_name() == "sqlite":
        return _build_file(url, persons, seed)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"))
        if _is_there(connection, persons, seed):
            return False
        _fill(connection, persons, seed)
    return True


def _version() -> str:
    return f"{_CONTENT_VERSION}, ICD-10-CM package {version('simple-icd-10-cm')}"


def _is_there(connection: Connection, persons: int, seed: int) -> bool:
    """Return whether exactly this warehouse exists; raise if a build would destroy other tables."""
    inspector = inspect(connection)
    present, ours = {*inspector.get_table_names(), *inspector.get_view_names()}, {*METADATA.tables, *VIEWS}
    marked = MARKER.name in present
    if marked and connection.execute(select(MARKER)).all() == [(seed, persons, _version())]:
        return True
    foreign = set() if marked else present & ours
    if connection.dialect.name == "sqlite":
        # The whole file is replaced.
        foreign |= present - ours
    if foreign:
        raise ForeignWarehouseError(
            f"table {', '.join(sorted(foreign))}: exists and was not made by the demo; name an empty database"
        )
    return False


def _fill(connection: Connection, persons: int, seed: int) -> None:
    for name in VIEWS:
        connection.execute(text(f"DROP VIEW IF EXISTS {name}"))
    METADATA.drop_all(connection)
    METADATA.create_all(connection)
    for name, rows in generate(persons, seed).items():
        load(connection, METADATA.tables[name], rows)
    for name, columns in INDEXES.items():
        connection.execute(text(f"CREATE INDEX {name} ON {columns}"))
    for name, query in VIEWS.items():
        connection.execute(text(f"CREATE VIEW {name} AS {query}"))
    connection.execute(insert(MARKER).values(seed=seed, persons=persons, version=_version()))
    for table in METADATA.sorted_tables:
        connection.execute(text(f"ANALYZE {table.name}"))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: a second builder waits and finds the warehouse of the first."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _build_file(url: URL, persons: int, seed: int) -> bool:
    path = Path(str(url.database)).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with _locked(path.parent):
        if path.exists() and _file_is_there(url, path, persons, seed):
            return False
        # A killed build may have left one.
        partial.unlink(missing_ok=True)
        try:
            _write_file(url.set(database=str(partial)), persons, seed)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return True


def _file_is_there(url: URL, path: Path, persons: int, seed: int) -> bool:
    with opened(url) as engine, engine.connect() as connection:
        there = _is_there(connection, persons, seed)
    # Another process's write-ahead log would be applied to the new file.
    if not there and any(path.with_name(path.name + suffix).exists() for suffix in _SIDECARS):
        raise ForeignWarehouseError(f"file {path}: is being written by another process; end that first")
    return there


def _write_file(url: URL, persons: int, seed: int) -> None:
    with opened(url) as engine, engine.connect() as connection:
        # The file is deleted unless it is complete, so it needs no journal.
        connection.exec_driver_sql("PRAGMA journal_mode = OFF")
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
        _fill(connection, persons, seed)
        connection.commit()
    with Path(str(url.database)).open("rb") as file:
        os.fsync(file.fileno())
