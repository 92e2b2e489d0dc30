"""An empty place for a ledger, in a file and on a server, over both of its drivers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from airflow_anon.ledger.store import Ledger
from tests.profiles import thorough

DATABASES = [
    "sqlite",
    pytest.param("postgresql+psycopg2", marks=pytest.mark.postgres),
    pytest.param("postgresql+psycopg", marks=pytest.mark.postgres),
]


@pytest.fixture(params=DATABASES if thorough() else DATABASES[:2])
def ledger_url(request: Any, tmp_path: Path) -> str:
    """Give the URL of a database that holds nothing yet; the gate has one driver each, but in `test_store.py`."""
    return empty_place(request, tmp_path)


def empty_place(request: Any, folder: Path) -> str:
    """Return the URL of an empty database of the kind, and over the driver, that a fixture's parameter names."""
    if request.param == "sqlite":
        return f"sqlite:///{folder / 'ledger.sqlite'}"
    url = make_url(request.getfixturevalue("postgres_database"))
    return url.set(drivername=request.param).render_as_string(hide_password=False)


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    """Give the ledger of that database, which nobody has made yet."""
    return Ledger(ledger_url)
