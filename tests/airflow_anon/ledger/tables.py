"""The tables of a ledger as somebody who owns them reads and changes them: plain SQL, no foreign keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from tests.reference.ledger_chain import is_chain

KEYS = {
    "release_ledger": ("sequence",),
    "release_document": ("sequence",),
    "ledger_head": ("sequence",),
    "pending_release": ("job", "release_id"),
}


@contextmanager
def owner(url: str) -> Iterator[sa.Connection]:
    """Give a connection for which foreign keys do not hold."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SET session_replication_role = replica"))
        yield connection


def rows_of(connection: sa.Connection, table: str) -> list[dict[str, Any]]:
    order = ", ".join(KEYS[table])
    return [dict(row) for row in connection.execute(sa.text(f"SELECT * FROM {table} ORDER BY {order}")).mappings()]


def remove(connection: sa.Connection, table: str, row: dict[str, Any]) -> None:
    connection.execute(sa.text(f"DELETE FROM {table} WHERE {_same(table)}"), _key(table, row))


def insert(connection: sa.Connection, table: str, row: dict[str, Any]) -> None:
    values = ", ".join(f":{name}" for name in row)
    connection.execute(sa.text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"), row)


def replace(connection: sa.Connection, table: str, row: dict[str, Any], changed: dict[str, Any]) -> None:
    remove(connection, table, row)
    insert(connection, table, changed)


def is_unbroken(url: str) -> bool:
    """Whether the tables hold a chain, by the slow check that shares no code with the ledger's."""
    with owner(url) as connection:
        rows = rows_of(connection, "release_ledger")
        if connection.dialect.name == "sqlite":
            rows = [{**row, "optimal": None if row["optimal"] is None else bool(row["optimal"])} for row in rows]
        documents = {row["sequence"]: row["document"] for row in rows_of(connection, "release_document")}
        (head,) = rows_of(connection, "ledger_head")
    return is_chain(rows, documents, (head["sequence"], head["entry_sha256"]))


def _same(table: str) -> str:
    return " AND ".join(f"{name} = :key_{name}" for name in KEYS[table])


def _key(table: str, row: dict[str, Any]) -> dict[str, Any]:
    return {f"key_{name}": row[name] for name in KEYS[table]}
