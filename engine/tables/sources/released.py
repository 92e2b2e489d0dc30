"""A release as a stream of record batches: a table in memory, a reader, or a Parquet file, read once.

In: what a caller has of a release. Out: its schema, without reading records, and batches of wanted columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.errors import InvalidData, is_file
from engine.tables.release_files import DATA
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.source import ArrowTable
from engine.tables.sources.table import Table


class _Stream:
    """A reader, which gives its records once."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader
        self.schema: pa.Schema = reader.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        for batch in self._reader:
            yield from ArrowTable(pa.Table.from_batches([batch])).batches(columns)


class _File:
    """A Parquet file, called a release in errors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = ParquetFile(path)
        except InvalidData as problem:
            raise self._named(problem) from None
        self.schema = self._file.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        try:
            yield from self._file.batches(columns)
        except InvalidData as problem:
            raise self._named(problem) from None

    def _named(self, problem: InvalidData) -> InvalidData:
        return InvalidData(str(problem).replace(f"source {self._path}", f"release {self._path}"))


def open_release(release: Any) -> Table:
    """Open a pyarrow Table, a RecordBatchReader, or the path of a release folder or of a Parquet file.

    What is open already stays as it is.

    Raises
    ------
    InvalidData
        It is none of these, or no file that can be read. Errors of the file's content come with its batches.
    """
    if isinstance(release, pa.Table):
        return ArrowTable(release)
    if isinstance(release, pa.RecordBatchReader):
        return _Stream(release)
    if callable(getattr(release, "batches", None)):
        opened: Table = release
        return opened
    if not isinstance(release, str | Path):
        raise InvalidData(
            f"release: is a {type(release).__name__}; give a pyarrow Table or RecordBatchReader, or the path of a "
            "release folder or of its Parquet file"
        )
    path = Path(release)
    path = path / DATA if path.is_dir() else path
    if not is_file(path):
        raise InvalidData(f"release {path}: not found; give a release folder, or the Parquet file in it")
    return _File(path)
