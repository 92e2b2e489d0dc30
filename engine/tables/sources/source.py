"""A source of records, opened: a CSV or Parquet file, a pyarrow Table or RecordBatchReader, or a pandas DataFrame.

In: one of these. Out: a `Table`: batches with the wanted columns. A file is read twice (to count, to transform) in
memory independent of its size; CSV columns are text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.errors import InvalidData, is_file, is_special, unreadable
from engine.tables.sources.column_types import readable
from engine.tables.sources.csv_form import CSV, CsvForm, is_csv
from engine.tables.sources.csv_source import CsvFile
from engine.tables.sources.in_memory import NO_TABLE, of_pandas, refuse_unselectable, without_runs
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.table import BATCH_ROWS, Table
from engine.tables.sources.valid_batch import valid_batch


class ArrowTable:
    """A table in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.rows: int = table.num_rows
        self.schema: pa.Schema = readable(table.schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        table = self._table.select(list(columns))
        refuse_unselectable(table.schema)
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            yield valid_batch(batch)


def known_rows(source: Table) -> int | None:
    """Return how many records a source has, if it tells that before it is read: in memory, or a Parquet file."""
    return source.rows if isinstance(source, ArrowTable | ParquetFile) else None


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
        if is_special(path):
            raise InvalidData(
                f"source {name}: is a pipe, a device or a socket, which can be read but once; write what it gives into "
                "a file, and name that"
            )
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
