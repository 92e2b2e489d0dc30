"""What tests of publications share."""

from __future__ import annotations

import pytest

from tests.conftest import empty_database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def research_url(request, tmp_path):
    """Give the address of an empty database for the table of a share: a file of SQLite, or one on a real PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/research.db"
        return
    with empty_database(request.getfixturevalue("postgres_url")) as url:
        yield url
