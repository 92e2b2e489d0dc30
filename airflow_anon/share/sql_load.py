"""The data of a release into an empty table, batch by batch: by ADBC if it keeps all types, else by SQLAlchemy."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.transport.adbc import Driver, connect, driver_for, unfit_setting
from airflow_anon.transport.parquet import cast_batch, plain_type, typed_nulls

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Engine, Table

BATCH_ROWS = 65_536
_log = logging.getLogger(__name__)


def plain_schema(data: Path) -> pa.Schema:
    """Return the schema in which a Parquet file is loaded, with one type per kind of value."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    schema = pq.read_schema(data)
    return typed_nulls(pa.schema([pa.field(field.name, plain_type(field.name, field.type)) for field in schema]))


def refuse_unfit_values(data: Path) -> None:
    """Refuse values that a table has no type for, of columns whose type may have some, before anything is written.

    While they are loaded a driver would tell them in words of its own.

    Raises
    ------
    AirflowFailException
        Names the column, and what it may hold.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    types = pa.types
    wider = (types.is_uint64, types.is_timestamp, types.is_time, types.is_date64)
    schema = plain_schema(data)
    there = [field for field in pq.read_schema(data) if any(is_kind(field.type) for is_kind in wider)]
    names = [field.name for field in there if field.type != schema.field(field.name).type]
    if not names:
        return
    with pq.ParquetFile(data) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names):
            cast_batch(batch, pa.schema([schema.field(name) for name in batch.schema.names]))


def load(data: Path, table: Table, engine: Engine, hook: Any, *, use_adbc: bool = True) -> int:
    """Append all records of a Parquet file to `table`, which has the columns of `plain_schema`.

    Returns
    -------
    int
        Number of records.
    """
    schema = plain_schema(data)
    driver = driver_for(engine.dialect.name)
    if use_adbc and driver is not None and driver.ingests and not _is_unfit(engine):
        _ingest(batches(data, schema), schema, table, driver, hook)
    else:
        for batch in batches(data, schema):
            # Each batch commits separately: a long transaction would keep SQLite's readers waiting.
            with engine.begin() as connection:
                connection.execute(table.insert(), _rows(batch, engine.dialect.name))
    return _records(data)


def _is_unfit(engine: Engine) -> bool:
    with engine.connect() as connection:
        unfit = unfit_setting(connection)
    if unfit is not None:
        _log.warning("The release is loaded without ADBC, which takes longer, since %s", unfit)
    return unfit is not None


def _ingest(loaded: Iterator[pa.RecordBatch], schema: pa.Schema, table: Table, driver: Driver, hook: Any) -> None:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    reader = pa.RecordBatchReader.from_batches(schema, loaded)
    with closing(connect(driver, hook)) as connection, closing(connection.cursor()) as cursor:
        cursor.adbc_ingest(table.name, reader, mode="append", db_schema_name=table.schema)
        connection.commit()


def batches(data: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Give the records of a Parquet file in the types of a plain schema."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    with pq.ParquetFile(data) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            yield cast_batch(batch, schema)


def _rows(batch: pa.RecordBatch, dialect: str) -> list[dict[str, Any]]:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    if dialect == "sqlite":
        fields = [f.with_type(pa.string()) if pa.types.is_decimal(f.type) else f for f in batch.schema]
        batch = cast_batch(batch, pa.schema(fields))
    return batch.to_pylist()


def _records(data: Path) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    return pq.read_metadata(data).num_rows
