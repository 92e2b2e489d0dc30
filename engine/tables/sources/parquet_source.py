"""A Parquet file as a table: batches of about 64 MB, in memory independent of its size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from engine.errors import InvalidData, unreadable
from engine.tables.sources.column_types import readable
from engine.tables.sources.encrypted import refuse_encrypted
from engine.tables.sources.int96 import compared_times, int96_columns
from engine.tables.sources.table import BATCH_ROWS
from engine.tables.sources.unchanged import UnchangedFile
from engine.tables.sources.valid_batch import valid_batch

BATCH_BYTES = 1 << 26
"""Of a batch, about: one of long texts or of many columns has fewer rows."""
_FEWEST_ROWS = 1 << 10
_LENGTH_BYTES = 4
"""Before each text that Parquet does not hold in a dictionary is its length."""
_OF_DICTIONARIES = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
"""Encodings of a column with a dictionary, of its levels, and of the values that no longer fit into it."""


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
                self.schema: pa.Schema = readable(file.schema_arrow)
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
