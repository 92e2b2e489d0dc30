"""One warehouse of 20,000 persons for all tests that only read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from airflow_anon.demo.warehouse import build_warehouse

PERSONS = 20_000


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Give an engine on a finished SQLite warehouse; do not write to it."""
    path: Path = tmp_path_factory.mktemp("warehouse") / "demo.db"
    build_warehouse(f"sqlite:///{path}", persons=PERSONS, seed=1)
    engine = create_engine(f"sqlite:///{path}")
    yield engine
    engine.dispose()
