"""A CSV file as a table: columns of text, in memory independent of the file's size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from engine.errors import InvalidData
from engine.tables.sources.broken_csv import why
from engine.tables.sources.csv_form import CsvForm
from engine.tables.sources.csv_quotes import ends_with
from engine.tables.sources.swallowed import swallowing
from engine.tables.sources.unchanged import UnchangedFile

_HEADER = 1 << 16
"""Bytes in which the header is looked for first."""


class CsvFile:
    """A delimited text file with a header; every column is text, and an empty field is an empty text."""

    def __init__(self, path: Path, form: CsvForm, name: str | None = None) -> None:
        self._path = path
        self._name = name or str(path)
        self._state = UnchangedFile(path, self._name)
        self._form = form
        # whether all columns were looked at once
        self._was_seen = False
        self._is_one_column = False
        self._read = pa.csv.ReadOptions(block_size=1 << 24, encoding=form.encoding)
        self._parse = pa.csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True)
        names = self._names()
        self.schema: pa.Schema = pa.schema([(name, pa.string()) for name in names])
        # of one column an empty line may be a record, which Arrow would leave out
        self._is_one_column = len(names) == 1
        if self._is_one_column:
            self._parse.ignore_empty_lines = False

    def _names(self) -> list[str]:
        """Read the header, by a block as short as most of them: Arrow guesses the types of all cells in it."""
        short = pa.csv.ReadOptions(block_size=_HEADER, encoding=self._form.encoding)
        try:
            with pa.csv.open_csv(self._path, read_options=short, parse_options=self._parse) as reader:
                return list(reader.schema.names)
        except (OSError, UnicodeError, pa.ArrowException):
            pass  # the header or a record is longer, or there is a mistake that is told by the usual way
        with self._open([]) as reader:
            try:
                return list(reader.schema.names)
            except UnicodeError as problem:
                raise self._unreadable(problem) from None

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
                    if self._is_one_column and batch.column(0).null_count:
                        raise self._empty_lines()
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

    def _empty_lines(self) -> InvalidData:
        return InvalidData(
            f"source {self._name}: has one column and empty lines, each of which some programs write for a missing "
            'value and others leave out; write a missing value as "", and take the other empty lines out'
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
            null_values=[""],
            strings_can_be_null=self._is_one_column,
            quoted_strings_can_be_null=False,
        )
        try:
            return pa.csv.open_csv(
                self._path, read_options=self._read, parse_options=self._parse, convert_options=convert
            )
        except (OSError, UnicodeError, pa.ArrowException) as problem:
            raise self._unreadable(problem) from None

    def _unreadable(self, problem: Exception) -> InvalidData:
        return InvalidData(f"source {self._name}: {why(self._path, self._read, self._parse, problem)}")
