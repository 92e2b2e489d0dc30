"""What the engine and a program that counts for it hand each other: batches in the types of the source.

In: the schema of a table, and batches of that program. Out: the types in which columns are handed over, and the same
batches in those types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pyarrow as pa

from engine.errors import InvalidData
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.data_set import DataSet
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.table import Table
from engine.tables.sources.valid_batch import valid_batch

CHANGED = "the source changed while it was read: it holds values or combinations that were not counted; run again"


@contextmanager
def unchanged(table: Table) -> Iterator[None]:
    """Refuse Parquet files of a table that another program reads, if they are not those that were opened.

    Raises
    ------
    InvalidData
        See `engine.tables.sources.unchanged`.
    """
    files = table.files if isinstance(table, DataSet) else [table]
    with ExitStack() as stack:
        for file in files:
            if isinstance(file, ParquetFile):
                stack.enter_context(file.unchanged())
        yield


def plain_schema(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """Return the columns in their plain types, dictionaries as their values."""
    return pa.schema([(name, plain_type(schema.field(name).type)) for name in columns])


def in_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the first columns of a batch with the names and in the types of a schema, which are those of the source.

    Raises
    ------
    InvalidData
        A value is none of its type.
    """
    try:
        columns = [batch.column(place).cast(field.type) for place, field in enumerate(schema)]
    except pa.ArrowException:
        raise InvalidData("source: its types are not those that it says; write it again") from None
    made = pa.RecordBatch.from_arrays(columns, schema=schema)
    # others read times beyond a day, which Arrow refuses in a file
    return valid_batch(made) if any(pa.types.is_time(field.type) for field in schema) else made


def is_float(schema: pa.Schema, name: str) -> bool:
    """Tell whether a column may hold zeros that differ by their sign alone."""
    return bool(pa.types.is_floating(schema.field(name).type))
