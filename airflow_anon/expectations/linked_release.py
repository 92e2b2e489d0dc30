"""The files of a release of linked tables as one file, which the expectations judge.

In: the folder of a release, the columns that each table must have. Out: a Parquet file with the records of all tables:
a column says of which one each is, and columns that a table lacks are missing. It shares nothing with the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from engine import TABLE_COLUMN, InvalidData


def stacked_release(folder: Path, tables: Mapping[str, Sequence[str]], target: Path) -> Path:
    """Write the records of all tables into the file `target`, batch by batch, and return it.

    Raises
    ------
    InvalidData
        A table has no file, or one that cannot be read or has other columns; or a column has two types.
    """
    try:
        schemas = {name: pq.read_schema(folder / f"{name}.parquet").remove_metadata() for name in tables}
    except (OSError, pa.ArrowException):  # their messages may quote a value
        raise InvalidData("the file of a table cannot be read as Parquet; run the de-identification again") from None
    wrong = [name for name, schema in schemas.items() if schema.names != list(tables[name])]
    if wrong:
        raise InvalidData(
            f"the files of {', '.join(wrong)} have other columns than the job releases, or another order; run it again"
        )
    whole = _joined(schemas)
    with pq.ParquetWriter(target, whole) as writer:
        for name in tables:
            _append(folder / f"{name}.parquet", name, whole, writer)
    return target


def _joined(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    try:
        return pa.unify_schemas([pa.schema([(TABLE_COLUMN, pa.string())]), *schemas.values()])
    except pa.ArrowException:
        raise InvalidData(
            "a column has several types in the files of the tables; run the de-identification again"
        ) from None


def _append(path: Path, name: str, whole: pa.Schema, writer: pq.ParquetWriter) -> None:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            own = {TABLE_COLUMN: pa.array([name] * batch.num_rows, pa.string())}
            own |= dict(zip(batch.schema.names, batch.columns, strict=True))
            columns = [own.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in whole]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=whole))
