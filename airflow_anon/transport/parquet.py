"""Record batches into one Parquet file of a staging folder, which appears complete or not at all.

The folder is a local path or any address of Airflow's object storage. Column types are the same in the whole file: if
they were not known beforehand and a later batch needs wider types, a new part begins, and the parts are joined at the
end.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.address import is_local

if TYPE_CHECKING:
    import pyarrow as pa
    from airflow.sdk import ObjectStoragePath

PRIVATE = 0o600


def write_parquet(
    batches: Iterator[pa.RecordBatch],
    path: ObjectStoragePath,
    seen: Callable[[pa.RecordBatch], None] | None = None,
) -> int:
    """Write the batches to `path`, mode 0600 on a local disk; leftovers of an earlier try are removed first.

    Parameters
    ----------
    seen : callable, optional
        Gets each batch in the types in which it is written, before a later one makes them wider.

    Returns
    -------
    int
        Number of records. If there are none, or after an error, neither the file nor a part of it exists.

    Raises
    ------
    FileNotFoundError
        The folder on a local disk does not exist.
    """
    path.unlink(missing_ok=True)
    _remove_leftovers(path)
    parts = _Parts(path, seen)
    try:
        for batch in batches:
            parts.add(batch)
        parts.close()
        if parts.rows:
            _rename(parts.join(), path)
    finally:
        try:
            parts.close()
        finally:  # on a full disk a file cannot be closed either
            _remove_leftovers(path)
    return parts.rows


def stored_schema(path: ObjectStoragePath) -> pa.Schema:
    """Return the schema of a file, as its readers get it."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    if is_local(path):  # see `_Writer`
        return pq.read_schema(path.path)
    with path.fs.open(path.path, "rb") as file:
        return pq.read_schema(file)


class _Parts:
    """The parts written so far. Schemas only get wider, so that of the last part fits all."""

    def __init__(self, path: ObjectStoragePath, seen: Callable[[pa.RecordBatch], None] | None = None) -> None:
        self.path = path
        self._seen = seen
        self.rows = 0
        self.paths: list[ObjectStoragePath] = []
        self.schema: pa.Schema | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        batch = normalized(batch)
        schema = batch.schema if self.schema is None else wider(self.schema, batch.schema)
        if schema != self.schema:
            self.close()
            self.schema = schema
            self.paths.append(_partial(self.path))
            self._writer = _Writer(self.paths[-1], schema)
        stored = cast_batch(batch, schema)
        self._writer.write(stored)
        if self._seen is not None:
            self._seen(stored)
        self.rows += batch.num_rows

    def close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def join(self) -> ObjectStoragePath:
        final = typed_nulls(self.schema)
        if len(self.paths) == 1 and final == self.schema:
            return self.paths[0]
        joined = _partial(self.path)
        with closing(_Writer(joined, final)) as writer:
            for part in self.paths:
                for batch in _read(part):
                    writer.write(cast_batch(batch, final))
        return joined


class _Writer:
    """A Parquet file under construction; `close` finishes it."""

    def __init__(self, path: ObjectStoragePath, schema: pa.Schema) -> None:
        import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
        import pyarrow.parquet as pq  # noqa: PLC0415

        if is_local(path):
            # The folder is not created here: a process that Airflow has given up must not create it again. To ask for
            # the file system of the path, Airflow would import those of all providers.
            self._file: Any = os.fdopen(os.open(path.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.fs.open(path.path, "wb")
        try:
            # numbers seldom repeat enough for a dictionary to be worth making
            texts = [field.name for field in schema if pa.types.is_string(field.type)]
            self._writer = pq.ParquetWriter(self._file, schema, compression="zstd", use_dictionary=texts)
        except BaseException:
            self._file.close()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


def normalized(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with one Arrow type per kind of value, independent of the driver's widths.

    Raises
    ------
    AirflowFailException
        Names a column of a nested or other type that a table of plain values cannot have.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    fields = [pa.field(field.name, plain_type(field.name, field.type)) for field in batch.schema]
    return cast_batch(batch, pa.schema(fields))


def plain_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type in which a column is stored."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    types = pa.types
    rules = (
        (types.is_dictionary, lambda: plain_type(name, kind.value_type)),
        (types.is_integer, pa.int64),
        (types.is_floating, pa.float64),
        (lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t), pa.string),
        (lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_binary_view(t), pa.binary),
        (types.is_date, pa.date32),
        (types.is_time, lambda: pa.time64("us")),
        (types.is_timestamp, lambda: pa.timestamp("us", tz="UTC" if kind.tz else None)),
        (lambda t: types.is_boolean(t) or types.is_decimal(t) or types.is_null(t), lambda: kind),
    )
    for matches, stored in rules:
        if matches(kind):
            return stored()
    raise AirflowFailException(
        f"column {name!r}: has the type {kind}, which is no plain value; cast it to text in a query"
    )


def wider(known: pa.Schema, new: pa.Schema) -> pa.Schema:
    """Return a schema that fits both.

    Raises
    ------
    AirflowFailException
        Names a column whose values have no common type.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    fields = []
    for old, other in zip(known, new, strict=True):
        try:
            both = pa.unify_schemas([pa.schema([old]), pa.schema([other])], promote_options="permissive")
        except pa.ArrowException:
            raise AirflowFailException(
                f"column {old.name!r}: holds values of type {old.type} and {other.type}; cast it to text in a query"
            ) from None
        fields.append(both.field(0))
    return pa.schema(fields)


def typed_nulls(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text for columns that never had a value."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    return pa.schema([field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema])


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with the schema's types; a value that would lose information is an error."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    arrays = []
    for array, field in zip(batch.columns, schema, strict=True):
        try:
            arrays.append(array if array.type == field.type else array.cast(field.type))
        except pa.ArrowException:  # noqa: PERF203 (names the column)
            raise AirflowFailException(
                f"column {field.name!r}: holds a value that does not fit {_range_of(field.type)}; cast it to text in a "
                "query"
            ) from None
    return pa.record_batch(arrays, schema=schema)


def _range_of(kind: pa.DataType) -> str:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    return f"{kind}, from {-(1 << 63)} to {(1 << 63) - 1}" if kind == pa.int64() else str(kind)


def _read(path: ObjectStoragePath) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    with path.fs.open(path.path, "rb") as file, pq.ParquetFile(file) as parquet:
        yield from parquet.iter_batches()


def _partial(path: ObjectStoragePath) -> ObjectStoragePath:
    return path.parent / f".{path.name}.{uuid.uuid4().hex}.partial"


def _rename(partial: ObjectStoragePath, path: ObjectStoragePath) -> None:
    if is_local(path):
        Path(partial.path).replace(path.path)
    else:
        path.fs.mv(partial.path, path.path)


def _remove_leftovers(path: ObjectStoragePath) -> None:
    if path.parent.exists():
        for leftover in path.parent.glob(f".{path.name}.*.partial"):
            leftover.unlink()
