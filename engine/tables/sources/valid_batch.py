"""Batches that may be read: text that is UTF-8, moments that are in range, no views."""

from __future__ import annotations

import pyarrow as pa

from engine.errors import InvalidData
from engine.tables.sources.column_text import out_of_range
from engine.tables.sources.column_types import readable


def valid_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without views whose text is UTF-8, of which neither Parquet nor Arrow in memory make sure."""
    try:
        batch.validate(full=True)
    except pa.ArrowException:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _check_column(name, column)
        raise InvalidData("table: is damaged; write it again") from None
    schema = readable(batch.schema)
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def _check_column(name: str, column: pa.Array) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowException:
        if pa.types.is_temporal(column.type):
            raise out_of_range(name) from None
        raise InvalidData(
            f"column {name!r}: holds text that is not UTF-8, or damaged values; correct the source, or write it again "
            "with text as UTF-8"
        ) from None
