"""Which columns Parquet can hold: a table in memory may have others, such as decimals of a negative scale.

In: the schema of an output. Out: nothing, or the error that names a column and the fix.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet

from engine.errors import InvalidData
from engine.tables.sources.column_types import type_name


def refuse_unknown_to_parquet(schema: pa.Schema) -> None:
    """Refuse a column that Parquet cannot hold, or not so that it can be read again.

    Raises
    ------
    InvalidData
    """
    if _is_known(schema):
        return
    name, kind = next((field.name, field.type) for field in schema if not _is_known(pa.schema([field])))
    raise InvalidData(
        f"column {name!r}: has the type {type_name(kind)}, and Parquet does not know it as it is here; convert the "
        "column in the source, a decimal to one whose scale is not negative, and any other to text or numbers"
    )


def _is_known(schema: pa.Schema) -> bool:
    try:
        pa.parquet.ParquetWriter(pa.BufferOutputStream(), schema, store_schema=False).close()
    except (OSError, pa.ArrowException):
        return False
    return not any(_is_empty_list(kind) for kind in schema.types)


def _is_empty_list(kind: pa.DataType) -> bool:
    """Whether a type has lists of always no value, at any depth: they are written, and Arrow cannot read them."""
    if pa.types.is_fixed_size_list(kind) and kind.list_size == 0:
        return True
    return any(_is_empty_list(kind.field(place).type) for place in range(kind.num_fields))
