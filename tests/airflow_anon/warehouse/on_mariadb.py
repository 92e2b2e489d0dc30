"""A database of a real MariaDB, in which a job runs, and another one in which its releases are."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_anon.transport.connection import engine_of, hook_of
from tests import mariadb
from tests.airflow_anon.warehouse.inside import CONNECTION


@contextmanager
def databases(running: mariadb.Server, monkeypatch, connection=CONNECTION) -> Iterator[tuple[str, str]]:
    """Make both, of a collation by which "a", "A" and "a " are equal; give their names."""
    own = f"clinic_{uuid.uuid4().hex[:8]}"
    shared = f"{own}_research"
    for name in (own, shared):
        running.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
    monkeypatch.setenv(f"AIRFLOW_CONN_{connection.upper()}", connection_to(running, own))
    yield own, shared
    for name in (own, shared):
        running.run(f"DROP DATABASE {name}")


def connection_to(running: mariadb.Server, database: str, login: str = mariadb.LOGIN) -> str:
    """Give an Airflow connection, as JSON."""
    return json.dumps(
        {
            "conn_type": "mariadb",
            "login": login,
            "password": mariadb.PASSWORD,
            "schema": database,
            "extra": {"unix_socket": running.socket},
        }
    )


def writing(connection=CONNECTION):
    """Give an engine whose sessions may write, as the operators have it."""
    return engine_of(hook_of(connection), create=True)
