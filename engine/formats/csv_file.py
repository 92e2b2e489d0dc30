"""The records of a release as CSV (RFC 4180), batch by batch, and the comparison of such a file with the Parquet file.

In: a Parquet file. Out: UTF-8 with a header, commas, and quotes around every text: a missing value is an empty cell
without quotes, so that it is told from an empty text. Numbers are written so that they are read as the same ones; dates
and times as of ISO 8601. Memory is that of one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from engine.codebook.document import DescribedColumn
from engine.errors import InvalidJob
from engine.tables.sources.column_types import type_name

_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_boolean,
    pa.types.is_decimal128,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
)
"""Types that Arrow reads from a CSV file again."""
_LAST_YEAR = 9999
_MINUTE = {"s": 60, "ms": 60_000, "us": 60_000_000, "ns": 60_000_000_000}


def refuse(schema: pa.Schema) -> None:
    """Refuse columns that CSV cannot hold.

    Raises
    ------
    InvalidJob
        A column has a type without a text of its own; or it is the only one, so that a record whose value is missing
        would be an empty line, which most readers leave out; or its name has a NUL character.
    """
    for field in schema:
        if "\0" in field.name:
            raise InvalidJob(
                f"output.formats: csv cannot name a column {field.name!r}: with a NUL character R does not read it; "
                "name it otherwise in the source query, or leave csv out"
            )
        if not any(is_type(field.type) for is_type in _TYPES):
            raise InvalidJob(
                f"output.formats: csv cannot hold column {field.name!r} of type {type_name(field.type)}; convert it "
                "in the source query, or leave csv out"
            )
    if len(schema) == 1:
        raise InvalidJob(
            f"output.formats: csv needs two columns, since a missing value of {schema.names[0]!r} would be an empty "
            "line, which readers leave out; leave csv out"
        )


def write(data: Path, target: Path, _: Sequence[DescribedColumn]) -> None:
    """Write the records of a Parquet file, in their order.

    Raises
    ------
    InvalidJob
        A column has values that are read as others, or as none.
    """
    with pa.parquet.ParquetFile(data) as file, pa.csv.CSVWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                _refuse_values(name, column)
            writer.write_batch(batch)


def _refuse_values(name: str, column: pa.Array) -> None:
    why = _lost_value(column)
    if why is not None:
        raise InvalidJob(
            f"output.formats: column {name!r} has {why}, which csv cannot hold; convert it in the source query, or "
            "leave csv out"
        )


def _lost_value(column: pa.Array) -> str | None:
    """Say of which kind values are that R does not read, or that have no text of ISO 8601; None if there are none."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return "texts with a NUL character" if pc.any(pc.match_substring(column, "\0")).as_py() else None
    if not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        return None
    ends = pc.min_max(pc.year(column)).as_py()
    if ends["min"] is not None and (ends["min"] < 0 or ends["max"] > _LAST_YEAR):
        return f"years before 0 or after {_LAST_YEAR}"
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        utc = column.cast(pa.timestamp(column.type.unit, "UTC"))
        ahead = pc.subtract(*(pc.local_timestamp(times).cast(pa.int64()) for times in (column, utc)))
        minute = _MINUTE[column.type.unit]
        if pc.any(pc.not_equal(pc.multiply(pc.divide(ahead, minute), minute), ahead)).as_py():
            return "times of a zone that then was no whole minutes from UTC"
    return None


def differ(data: Path, written: Path, _: Sequence[DescribedColumn]) -> bool:
    """Return whether a CSV file has other records than a Parquet file, or has them in another order."""
    with pa.parquet.ParquetFile(data) as file:
        try:
            return not _equal(file, _records(written, file.schema_arrow))
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            return True


def _equal(file: pa.parquet.ParquetFile, found: Iterator[pa.RecordBatch]) -> bool:
    waiting = file.schema_arrow.empty_table()
    for batch in file.iter_batches():
        while waiting.num_rows < batch.num_rows:
            further = next(found, None)
            if further is None:
                return False
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([further])])
        there = waiting.slice(0, batch.num_rows)
        waiting = waiting.slice(batch.num_rows)
        if not all(_same(batch[name], there[name].combine_chunks()) for name in batch.schema.names):
            return False
    return waiting.num_rows == 0 and all(further.num_rows == 0 for further in found)


def _records(written: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the records of a CSV file in the types of a schema; none of a file with other columns."""
    plain = schema.remove_metadata()
    reader = pa.csv.open_csv(
        written,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa.csv.ConvertOptions(
            column_types=plain, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    if reader.schema.names != plain.names:
        return
    yield from reader


def _same(first: pa.Array, second: pa.Array) -> bool:
    if not pa.types.is_floating(first.type):
        return bool(first.equals(second))
    if not first.is_valid().equals(second.is_valid()):
        return False
    one, other = (column.drop_null().to_numpy(zero_copy_only=False) for column in (first, second))
    return bool(np.array_equal(one, other, equal_nan=True))
