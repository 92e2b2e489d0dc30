"""A table as a stream that can be read several times: record batches of Arrow, in the order of the source.

In: a CSV or Parquet file, a pyarrow Table or RecordBatchReader, or a pandas DataFrame. Out: batches with the wanted
columns. A file is read twice (to count, to transform) in memory independent of its size; CSV columns are text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from engine.errors import InvalidData, is_file, unreadable
from engine.tables.broken_csv import why
from engine.tables.csv_form import CSV, CsvForm, is_csv
from engine.tables.csv_quotes import ends_with
from engine.tables.encrypted import refuse_encrypted
from engine.tables.in_memory import NO_TABLE, of_pandas, refuse_unselectable, without_runs
from engine.tables.int96 import compared_times, int96_columns
from engine.tables.swallowed import swallowing
from engine.tables.unchanged import UnchangedFile

BATCH_ROWS = 1 << 17
BATCH_BYTES = 1 << 26
"""Of a batch, about: one of long texts or of many columns has fewer rows."""
_FEWEST_ROWS = 1 << 10
_LENGTH_BYTES = 4
"""Before each text that Parquet does not hold in a dictionary is its length."""
_OF_DICTIONARIES = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
"""Encodings of a column with a dictionary, of its levels, and of the values that no longer fit into it."""


class Table(Protocol):
    """A stream of record batches."""

    @property
    def schema(self) -> pa.Schema:
        """Columns and types."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the wanted columns from the start.

        Raises
        ------
        InvalidData
            The file is damaged, or another one than when it was opened; or a column has text that is not UTF-8.
        """


class ArrowTable:
    """A table in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.rows: int = table.num_rows
        self.schema: pa.Schema = _readable(table.schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        table = self._table.select(list(columns))
        refuse_unselectable(table.schema)
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            yield valid_batch(batch)


class ParquetFile:
    """A Parquet file; text columns whose values repeat come as the dictionaries that the file holds.

    Attributes
    ----------
    int96 : list of str
        Columns with times that Arrow may change; those that it does are refused.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self._name = name or str(path)
        self._state = UnchangedFile(path, self._name)
        try:
            refuse_encrypted(path, self._name)
            with pa.parquet.ParquetFile(path) as file:
                refuse_encrypted(path, self._name, file.metadata)
                self.schema: pa.Schema = _readable(file.schema_arrow)
                _ = self.schema.names
                self.rows: int = file.metadata.num_rows
                self._widths = _widths(file)
                self._repeating = _repeating(file.schema_arrow, self._widths, file.metadata)
                self.int96 = int96_columns(path, file)
        except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
            raise InvalidData(f"source {self._name}: cannot be read as Parquet ({unreadable(problem)})") from None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        with self.unchanged():
            yield from self._batches(columns)

    def unchanged(self) -> AbstractContextManager[None]:
        """Refuse a file that is not the one that was opened; see `UnchangedFile`."""
        return self._state.while_read()

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            # pages that have no checksum are read as they are
            with pa.parquet.ParquetFile(
                self.path, read_dictionary=self._repeating, page_checksum_verification=True
            ) as file:
                rows = self.batch_rows(columns)
                times = [name for name in self.int96 if name in columns]
                # a reader of many row groups keeps what it read of each until it ends
                for groups in _runs(file.metadata, rows):
                    batches = file.iter_batches(batch_size=rows, row_groups=groups, columns=list(columns))
                    for batch in compared_times(self.path, batches, times, rows, groups):
                        yield valid_batch(batch)
        except (OSError, pa.ArrowException) as problem:
            raise InvalidData(f"source {self._name}: is a damaged Parquet file ({unreadable(problem)})") from None

    def batch_rows(self, columns: Sequence[str]) -> int:
        """Return the rows of a batch of some columns."""
        width = sum(sum(self._widths.get(name, [])) for name in columns)
        return BATCH_ROWS if width * BATCH_ROWS <= BATCH_BYTES else max(_FEWEST_ROWS, int(BATCH_BYTES / width))


def _runs(metadata: Any, rows: int) -> Iterator[list[int]]:
    """Yield the row groups of a file, those that follow each other together until they have so many rows."""
    run, found = [], 0
    for group in range(metadata.num_row_groups):
        run.append(group)
        found += metadata.row_group(group).num_rows
        if found >= rows:
            yield run
            run, found = [], 0
    if run:
        yield run


def _widths(file: Any) -> dict[str, list[float]]:
    """Return the bytes that a value takes, on average, in the columns of a file: one of each, more of nested ones."""
    paths = [file.schema.column(place).path for place in range(file.metadata.num_columns)]
    bytes_of = np.zeros(len(paths))
    for group in range(file.metadata.num_row_groups):
        for place in range(len(paths)):
            bytes_of[place] += file.metadata.row_group(group).column(place).total_uncompressed_size
    names = set(file.schema_arrow.names)
    found: dict[str, list[float]] = {}
    for path, size in zip(paths, bytes_of, strict=True):
        name = path if path in names else path.partition(".")[0]
        found.setdefault(name, []).append(size / max(1, file.metadata.num_rows))
    return found


def _repeating(schema: pa.Schema, widths: Mapping[str, list[float]], metadata: Any) -> list[str]:
    """Return the text columns that a file holds as dictionaries: any other plain text has four bytes a value and more.

    Texts in the encodings of differences may have fewer; Arrow makes no dictionaries of them.
    """
    others = _other_encodings(metadata)
    texts = [field.name for field in schema if field.type == pa.string() and field.name not in others]
    return [name for name in texts if len(widths[name]) == 1 and widths[name][0] <= _LENGTH_BYTES]


def _other_encodings(metadata: Any) -> set[str]:
    """Return the paths of columns with pages that are neither plain nor of a dictionary."""
    chunks = (
        metadata.row_group(group).column(place)
        for group in range(metadata.num_row_groups)
        for place in range(metadata.num_columns)
    )
    return {chunk.path_in_schema for chunk in chunks if not set(chunk.encodings) <= _OF_DICTIONARIES}


def known_rows(source: Table) -> int | None:
    """Return how many records a source has, if it tells that before it is read: in memory, or a Parquet file."""
    return source.rows if isinstance(source, ArrowTable | ParquetFile) else None


class CsvFile:
    """A delimited text file with a header; every column is text, and an empty field is an empty text."""

    def __init__(self, path: Path, form: CsvForm, name: str | None = None) -> None:
        self._path = path
        self._name = name or str(path)
        self._state = UnchangedFile(path, self._name)
        self._form = form
        # whether all columns were looked at once
        self._was_seen = False
        self._read = pa.csv.ReadOptions(block_size=1 << 24, encoding=form.encoding)
        self._parse = pa.csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True)
        with self._open([]) as reader:
            try:
                names = reader.schema.names
            except UnicodeError as problem:
                raise self._unreadable(problem) from None
        self.schema: pa.Schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        with self._state.while_read():
            yield from self._batches(columns)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = self.schema.names
        end = None
        # how a file ends is known by its last column
        others = names[-1:] if self._was_seen else names
        with self._open(list(columns), others) as reader:
            try:
                for batch in reader:
                    places = [names.index(name) for name in batch.schema.names]
                    place = swallowing(batch, places, self._form, len(names))
                    if place is not None:
                        raise self._swallowed(place)
                    if batch.num_rows:
                        end = batch.column(names[-1])[-1].as_py()
                    yield batch.select(list(columns))
            except (OSError, UnicodeError, pa.ArrowException) as problem:
                raise self._unreadable(problem) from None
        if end is not None and not ends_with(self._path, self._form, end):
            raise self._unclosed()
        self._was_seen = True

    def _unclosed(self) -> InvalidData:
        return InvalidData(
            f'source {self._name}: has a quote (") that is not closed, so that all records after it would be one cell; '
            "close it, double it where it is meant as a character, or write the table as Parquet"
        )

    def _swallowed(self, place: int) -> InvalidData:
        return InvalidData(
            f'source {self._name}: a cell of column {place + 1} holds parts of several records, between two quotes (") '
            "that are not those of one cell; double a quote that is meant as a character, or write the table as Parquet"
        )

    def _open(self, columns: list[str], others: Sequence[str] = ()) -> Any:
        """Open the file for some columns as text, and for others, of which only the quotes matter."""
        kinds = {**dict.fromkeys(others, pa.binary()), **dict.fromkeys(columns, pa.string())}
        convert = pa.csv.ConvertOptions(
            column_types=kinds,
            include_columns=[*columns, *(name for name in kinds if name not in columns)],
            strings_can_be_null=False,
        )
        try:
            return pa.csv.open_csv(
                self._path, read_options=self._read, parse_options=self._parse, convert_options=convert
            )
        except (OSError, UnicodeError, pa.ArrowException) as problem:
            raise self._unreadable(problem) from None

    def _unreadable(self, problem: Exception) -> InvalidData:
        return InvalidData(f"source {self._name}: {why(self._path, self._read, self._parse, problem)}")


def open_path(path: str | Path, form: CsvForm = CSV, name: str | None = None) -> Table:
    """Open a `.csv` or `.parquet` file.

    Parameters
    ----------
    name : str, optional
        What errors call it, if its path must not be told.

    Raises
    ------
    InvalidData
        The file is missing, of another kind, or not readable.
    """
    path, name = Path(path), name or str(path)
    if not is_file(path):
        raise InvalidData(f"source {name}: not found; the path is relative to the job file")
    return _unique(_opened(path, form, name), name)


def _opened(path: Path, form: CsvForm, name: str) -> Table:
    if path.suffix.lower() in {".parquet", ".pq"}:
        return ParquetFile(path, name)
    if is_csv(path):
        return CsvFile(path, form, name)
    raise InvalidData(f"source {name}: must end in .csv, .csv.gz or .parquet")


def open_data(data: Any) -> Table:
    """Wrap a pyarrow Table, a RecordBatchReader (read to its end) or a pandas DataFrame.

    Raises
    ------
    InvalidData
        It is none of these.
    """
    try:
        if isinstance(data, pa.RecordBatchReader):
            data = data.read_all()
        elif _is_data_frame(data):
            data = of_pandas(data)
    except NO_TABLE as problem:
        # Arrow's message is left out, because it quotes the value that did not fit.
        raise InvalidData(
            f"table: cannot be read as an Arrow table ({unreadable(problem)}); every column needs a name of its own "
            "and values of one type"
        ) from None
    if not isinstance(data, pa.Table):
        raise InvalidData(
            f"table: is a {type(data).__name__}; give a pyarrow Table or RecordBatchReader, or a DataFrame"
        )
    return _unique(ArrowTable(without_runs(data)), "table")


def as_text(column: pa.Array, name: str) -> pa.Array:
    """Render a column as text, with nulls: the form of the values of hierarchies.

    Raises
    ------
    InvalidData
        The type has no text form (lists, structs, binary).
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        return column
    try:
        if not _is_opaque(column.type):
            return _within_range(column.cast(pa.string()), column.type, name)
    except pa.ArrowException:
        pass  # the message may quote a value
    if pa.types.is_timestamp(column.type):
        raise InvalidData(
            f"column {name!r}: holds times of a time zone that is not known here; make them UTC, or of a zone of IANA "
            "such as Europe/Zurich, in the source query"
        )
    raise InvalidData(
        f"column {name!r}: type {type_name(column.type)} has no text form; convert it in the source query"
    )


def _within_range(texts: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Refuse what Arrow writes in place of a moment that it cannot write."""
    if pa.types.is_temporal(kind) and pc.any(pc.starts_with(texts, "<value out of range")).as_py():
        raise _out_of_range(name)
    return texts


def _out_of_range(name: str) -> InvalidData:
    return InvalidData(
        f"column {name!r}: holds dates or times out of range, such as an infinite date or 24:00; correct them, or make "
        "the column text in a query"
    )


def dictionary_of(column: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the distinct values of a column as they are, and the place of each record's among them.

    Values that no record has may be among them, if the column came with its dictionary.

    Returns
    -------
    values : pyarrow Array
    places : int32, shape (records,)
        Those after the last value are missing.

    Raises
    ------
    InvalidData
        See `as_text`.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if not pa.types.is_dictionary(column.type) or _is_opaque(column.type.value_type):
        column = _encoded(column, name)
    places = column.indices.cast(pa.int32()).fill_null(len(column.dictionary))
    return column.dictionary, places.to_numpy(zero_copy_only=False)


def _encoded(column: pa.Array, name: str) -> pa.DictionaryArray:
    try:
        if not _is_opaque(column.type):
            return column.dictionary_encode()
    except pa.ArrowException:
        pass  # a type that has a text form, but cannot be compared
    return as_text(column, name).dictionary_encode()


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type without its parameters, among which are the names of nested fields of the file."""
    return re.split(r"[<\[(]", str(kind), maxsplit=1)[0]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type without dictionary encoding, at any depth, and without the metadata of nested fields.

    A dictionary may hold values that no record has, such as those of records that are left out.
    """
    return plain_type(kind.value_type) if pa.types.is_dictionary(kind) else _rebuilt(kind, plain_type)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Return the type with texts and bytes in place of views of them, of which Arrow can take no selection."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_views(kind.value_type), kind.ordered)
    return _rebuilt(kind, _without_views)


def _rebuilt(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a nested type with its parts changed and without their metadata, and any other type as it is."""

    def changed(field: pa.Field) -> pa.Field:
        return field.with_type(change(field.type)).remove_metadata()

    if pa.types.is_struct(kind):
        return pa.struct([changed(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(changed(kind.key_field), changed(kind.item_field), kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(changed(kind.value_field), kind.list_size)
    for is_kind, make in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_kind(kind):
            return make(changed(kind.value_field))
    return kind


def _readable(schema: pa.Schema) -> pa.Schema:
    """Return the schema as batches are read: see `_without_views`."""
    return pa.schema([field.with_type(_without_views(field.type)) for field in schema], schema.metadata)


def valid_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without views whose text is UTF-8, of which neither Parquet nor Arrow in memory make sure."""
    try:
        batch.validate(full=True)
    except pa.ArrowException:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _check_column(name, column)
        raise InvalidData("table: is damaged; write it again") from None
    schema = _readable(batch.schema)
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def _check_column(name: str, column: pa.Array) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowException:
        if pa.types.is_temporal(column.type):
            raise _out_of_range(name) from None
        raise InvalidData(
            f"column {name!r}: holds text that is not UTF-8, or damaged values; correct the source, or write it again "
            "with text as UTF-8"
        ) from None


def _is_opaque(kind: pa.DataType) -> bool:
    binary = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return pa.types.is_nested(kind) or any(is_kind(kind) for is_kind in binary)


def _is_data_frame(data: Any) -> bool:
    kind = type(data)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _unique(table: Table, where: str) -> Table:
    """Refuse equal column names.

    The message has positions only: in a file without a header the names are values of a record.
    """
    names = table.schema.names
    found = Counter(names)
    twice = [position for position, name in enumerate(names, start=1) if found[name] > 1]
    if twice:
        places = ", ".join(map(str, twice))
        raise InvalidData(f"{where}: column names must be unique, those of columns {places} are not; check the header")
    return table
