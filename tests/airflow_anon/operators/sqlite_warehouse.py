"""A warehouse of one table in SQLite, and the Airflow connections of a run on it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest


def warehouse_of(folder: Path, monkeypatch: pytest.MonkeyPatch, create: str, rows: Iterable[Sequence[Any]]) -> Path:
    """Make the table in `warehouse.db`, the connection `warehouse` and a place for staging; give the folder."""
    connection = sqlite3.connect(folder / "warehouse.db")
    name = create.split()[2]
    connection.execute(create)
    for row in rows:
        connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    connect(folder, monkeypatch, "warehouse")
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(folder / "staging"))
    return folder


def connect(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Define the connection of a database of that name in the folder."""
    place = {"conn_type": "sqlite", "host": str(folder / f"{name}.db")}
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(place))
