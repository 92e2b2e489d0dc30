"""The vault and the key of a series that a job names by Airflow connections, and their tables in any SQL database.

The key is the password of its connection, so that Airflow masks it in logs; it goes to the engine and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_anon.transport.connection import WAIT_FOR_LOCK_MILLISECONDS, engine_of, hook_of
from airflow_anon.transport.person_keys import password_of_connection
from engine import SeriesRun, VaultBusy, VaultRefused, open_series, sound_key

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from engine import Job


class VaultTables:
    """The tables of a vault in a database.

    Parameters
    ----------
    engine : Engine
        Of PostgreSQL or SQLite.
    place : str
        Where it is, for errors.

    Attributes
    ----------
    blob : str
        The type of bytes.
    """

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine, self._place = engine, place
        self.blob = "BYTEA" if engine.dialect.name == "postgresql" else "BLOB"

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Give the one transaction that writes; it is undone if the block raises.

        Raises
        ------
        VaultBusy
            The database does not answer, or another process holds the vault: a later try may succeed.
        VaultRefused
            It cannot be used.
        """
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        try:
            with self._engine.connect() as plain:
                connection = plain.execution_options(sqlite_begin="IMMEDIATE")
                with connection.begin():
                    if self._engine.dialect.name == "postgresql":
                        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {WAIT_FOR_LOCK_MILLISECONDS}")
                        # one number for all vaults of a database: the tables may not be there yet
                        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7310612085316645)")

                    def run(statement: str, /, **values: Any) -> list[tuple[Any, ...]]:
                        result = connection.execute(sa.text(statement), values)
                        if not result.returns_rows:
                            return []
                        return [tuple(map(_plain, row)) for row in result]

                    yield run
        except sa.exc.SQLAlchemyError as problem:
            kind = type(getattr(problem, "orig", None) or problem).__name__
            passing = isinstance(problem, sa.exc.OperationalError | sa.exc.InterfaceError)
            raise (VaultBusy if passing else VaultRefused)(
                f"{self._place}: cannot be used ({kind}); if another run is using it, wait and run again; if its "
                "server does not answer, see to that"
            ) from None

    def has_table(self, run: Any, name: str) -> bool:
        """Tell whether there is such a table."""
        known = "sqlite_master WHERE type = 'table' AND name = :name"
        if self._engine.dialect.name == "postgresql":
            known = "pg_tables WHERE tablename = :name AND schemaname = ANY (current_schemas(false))"
        return bool(run(f"SELECT 1 FROM {known}", name=name))


def series_of(job: Job, release_id: str, *, make: bool = True) -> SeriesRun:
    """Open the series of a job; its connections are looked up.

    Parameters
    ----------
    make : bool
        Make the files that are missing.

    Raises
    ------
    AirflowFailException
        A connection is not defined, or is of no database.
    InvalidJob, VaultRefused
        The key is too short, or the database is not one that can hold a vault.
    """
    settings = job.series
    assert settings is not None  # noqa: S101 (the caller has asked)
    database, secret = None, None
    if settings.vault_conn_id is not None:
        place = f"series.vault_conn_id: {settings.vault_conn_id!r}"
        engine = engine_of(hook_of(settings.vault_conn_id), create=True)
        if engine.dialect.name not in {"postgresql", "sqlite"}:
            raise VaultRefused(f"{place}: is of {engine.dialect.name}; must be PostgreSQL or SQLite")
        database = VaultTables(engine, place)
    if settings.key_conn_id is not None:
        found = password_of_connection("series", settings.key_conn_id)
        secret = sound_key(found, f"series.key_conn_id: {settings.key_conn_id!r}", "its password")
    return open_series(job, release_id, database, secret, make=make)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
