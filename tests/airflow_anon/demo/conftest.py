"""One warehouse of 20,000 persons for all tests that only read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from airflow_anon.demo.warehouse import build_warehouse
from tests.conftest import alone

PERSONS = 20_000


@pytest.fixture(scope="session")
def warehouse(once: Path) -> Iterator[Engine]:
    """Give an engine on a finished SQLite warehouse; do not write to it."""
    with alone(once, "demo.db") as path:
        build_warehouse(f"sqlite:///{path}", persons=PERSONS, seed=1)
    engine = create_engine(f"sqlite:///{path}")
    yield engine
    engine.dispose()
