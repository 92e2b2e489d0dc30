"""Times that a Parquet file holds as INT96, as Impala, Hive and Spark before 3.0 write them.

In: a file. Out: its batches, compared. Arrow reads such times in nanoseconds, in 64 bits: those before 1677 or after
2262, such as a 9999-12-31 that means no end, become other times without a word. Read once more in microseconds they
stay what they are, so the two are compared, batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from engine.errors import InvalidData

_NANOSECONDS = 1000
"""Of a microsecond."""


def int96_columns(path: Path, file: Any) -> list[str]:
    """Return the columns of an open Parquet file that hold such times, at any depth."""
    kinds = (file.schema.column(place).physical_type for place in range(file.metadata.num_columns))
    if "INT96" not in kinds:
        return []
    with pa.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as other:
        pairs = zip(file.schema_arrow, other.schema_arrow, strict=True)
        return [field.name for field, coerced in pairs if field.type != coerced.type]


def compared_times(
    path: Path, batches: Iterable[pa.RecordBatch], columns: Sequence[str], batch_rows: int, row_groups: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of row groups of a file, of so many rows, and refuse times that became others.

    Parameters
    ----------
    columns : sequence of str
        Those of the batches that hold INT96.

    Raises
    ------
    InvalidData
        A time does not fit, or is within a nested value.
    """
    if not columns:
        yield from batches
        return
    with pa.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        again = file.iter_batches(batch_size=batch_rows, row_groups=list(row_groups), columns=list(columns))
        for batch, exact in zip(batches, again, strict=True):
            for name in columns:
                _compare(name, batch.column(name), exact.column(name))
            yield batch


def _compare(name: str, found: pa.Array, exact: pa.Array) -> None:
    fix = "write the file again with times in microseconds (TIMESTAMP_MICROS)"
    if not pa.types.is_timestamp(found.type):
        raise InvalidData(f"column {name!r}: holds INT96 within type {str(found.type).partition('<')[0]}; {fix}")
    if not np.array_equal(_numbers(found) // _NANOSECONDS, _numbers(exact)):
        raise InvalidData(
            f"column {name!r}: holds, as INT96, times before 1677-09-22 or after 2262-04-11, which cannot be read from "
            f"it; {fix}, or replace them in the source"
        )


def _numbers(times: Any) -> NDArray[np.int64]:
    found: NDArray[np.int64] = pc.fill_null(times.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found
