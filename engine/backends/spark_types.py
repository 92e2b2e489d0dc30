"""Which columns Spark keeps as they are, and the types in which it reads them.

In: types of Arrow, as a source has them. Out: types of Spark. Those of unsigned integers are the next larger ones, and
timestamps in nanoseconds are read as integers, so that nothing is rounded; `engine.backends.spark_backend` turns them
back. See https://spark.apache.org/docs/latest/sql-ref-datatypes.html and `ParquetToSparkSchemaConverter` of Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from engine.errors import InvalidData
from engine.tables.sources.column_types import plain_type, type_name

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.date32(): "date",
}


def spark_type(kind: pa.DataType) -> str | None:
    """Return the name of the type in which Spark reads every value of a type of Parquet; None if there is none."""
    kind = plain_type(kind)
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            return "bigint"
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})" if 0 <= kind.scale <= kind.precision else None
    return _PLAIN.get(kind)


def refuse(schema: pa.Schema, columns: Sequence[str]) -> None:
    """Raise InvalidData if Spark cannot keep these columns as they are."""
    for name in columns:
        if spark_type(schema.field(name).type) is None:
            raise InvalidData(
                f"column {name!r}: Spark does not keep every value of type {type_name(schema.field(name).type)}; set "
                "backend: arrow, or convert it in the source"
            )
