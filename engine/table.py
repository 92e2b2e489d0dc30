"""A table as a stream that can be read again: record batches of Arrow, in the order of the source.

In: a CSV or Parquet file, a pyarrow Table or RecordBatchReader, or a pandas DataFrame. Out: batches with the wanted
columns. A file is read twice (to count, to transform) in memory that does not grow with it; CSV columns are text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from engine.errors import InvalidData

BATCH_ROWS = 1 << 17


class Table(Protocol):
    """A stream of record batches."""

    @property
    def schema(self) -> pa.Schema:
        """Columns and types."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the wanted columns from the start."""


class ArrowTable:
    """A table in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.schema: pa.Schema = table.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        yield from self._table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


class ParquetFile:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.schema: pa.Schema = pa.parquet.read_schema(path)
        except (OSError, pa.ArrowException) as problem:
            raise InvalidData(f"source {path}: cannot be read as Parquet ({_reason(problem)})") from None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        with pa.parquet.ParquetFile(self._path) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns))


class CsvFile:
    """A delimited text file with a header, UTF-8; every column is text and an empty field is an empty text."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self._path = path
        self._parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with self._open([]) as reader:
            names = reader.schema.names
        self.schema: pa.Schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        with self._open(list(columns)) as reader:
            try:
                for batch in reader:
                    yield batch.select(list(columns))
            except pa.ArrowInvalid:
                raise InvalidData(
                    f"source {self._path}: a line does not have {len(self.schema)} fields of UTF-8 text separated by "
                    f"{self._parse.delimiter!r}; check the delimiter, the quoting and the encoding"
                ) from None

    def _open(self, columns: list[str]) -> Any:
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), include_columns=columns, strings_can_be_null=False
        )
        read = pa.csv.ReadOptions(block_size=1 << 24)
        try:
            return pa.csv.open_csv(self._path, read_options=read, parse_options=self._parse, convert_options=convert)
        except FileNotFoundError:
            raise InvalidData(f"source {self._path}: not found; the path is relative to the job file") from None
        except (OSError, pa.ArrowException):
            raise InvalidData(
                f"source {self._path}: cannot be read as UTF-8 text with a header and fields separated by "
                f"{self._parse.delimiter!r}; check the delimiter and that the file is not empty"
            ) from None


def open_path(path: str | Path, delimiter: str = ",") -> Table:
    """Open a `.csv` or `.parquet` file.

    Raises
    ------
    InvalidData
        The file is missing, of another kind, or not readable.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidData(f"source {path}: not found; the path is relative to the job file")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _unique(ParquetFile(path), str(path))
    if path.suffix.lower() == ".csv" or path.name.lower().endswith(".csv.gz"):
        return _unique(CsvFile(path, delimiter), str(path))
    raise InvalidData(f"source {path}: must end in .csv, .csv.gz or .parquet")


def open_data(data: Any) -> Table:
    """Wrap a pyarrow Table, a RecordBatchReader (read to its end) or a pandas DataFrame.

    Raises
    ------
    InvalidData
        It is none of these.
    """
    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
    elif type(data).__module__.partition(".")[0] == "pandas":
        data = pa.Table.from_pandas(data, preserve_index=False)
    if not isinstance(data, pa.Table):
        raise InvalidData(
            f"table: is a {type(data).__name__}; give a pyarrow Table or RecordBatchReader, or a DataFrame"
        )
    return _unique(ArrowTable(data), "table")


def as_text(column: pa.Array, name: str) -> pa.Array:
    """Render a column as text, nulls kept: the form in which hierarchies know values.

    Raises
    ------
    InvalidData
        The type has no text form (lists, structs, binary).
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise InvalidData(f"column {name!r}: type {column.type} has no text form; convert it in the source query")
    return column.cast(pa.string())


def _unique(table: Table, where: str) -> Table:
    names = table.schema.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidData(f"{where}: column names must be unique, these stand there twice: {', '.join(twice)}")
    return table


def _reason(problem: Exception) -> str:
    return type(problem).__name__
