"""Bulk loading of an Arrow table: COPY on PostgreSQL, batches of rows on SQLite."""

from __future__ import annotations

import io
from contextlib import closing
from typing import Any, cast

import pyarrow as pa
from pyarrow import csv
from sqlalchemy import Connection, Table

_BATCH_ROWS = 50_000


def load(connection: Connection, target: Table, rows: pa.Table) -> None:
    """Append `rows` to `target` within the connection's transaction; columns that `rows` lacks stay null."""
    if connection.dialect.name == "postgresql":
        _copy(connection, target, rows)
    else:
        _insert(connection, target, rows)


def _quoted(connection: Connection, target: Table, columns: list[str]) -> tuple[str, str]:
    preparer = connection.dialect.identifier_preparer
    return preparer.format_table(target), ", ".join(preparer.quote(column) for column in columns)


def _copy(connection: Connection, target: Table, rows: pa.Table) -> None:
    table, columns = _quoted(connection, target, rows.column_names)
    for batch in rows.to_batches(_BATCH_ROWS):
        text = io.BytesIO()
        # A null is an empty field without quotes, as COPY reads it.
        csv.write_csv(batch, text, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
        text.seek(0)
        with closing(cast("Any", connection.connection.cursor())) as cursor:
            cursor.copy_expert(f"COPY {table} ({columns}) FROM STDIN WITH (FORMAT csv)", text)


def _insert(connection: Connection, target: Table, rows: pa.Table) -> None:
    table, columns = _quoted(connection, target, rows.column_names)
    marks = ", ".join("?" * rows.num_columns)
    for batch in rows.to_batches(_BATCH_ROWS):
        values = [_as_stored(column).to_pylist() for column in batch.columns]
        connection.exec_driver_sql(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(zip(*values, strict=True)))


def _as_stored(column: pa.Array) -> pa.Array:
    # SQLite has no type for days and times; they are ISO 8601 texts, which SQLAlchemy can read.
    return column.cast(pa.string()) if pa.types.is_temporal(column.type) else column
