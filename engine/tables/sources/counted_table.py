"""A Parquet file whose combinations of values were counted by whoever wrote it.

In: the file, and its distinct combinations with their numbers of records, as values and not as codes: what a hierarchy
or the words for a missing value make of them is decided when they are counted for a job. Out: a `Table` that also
counts itself. Whatever changes its records on their way (coded numbers, shifted dates, samples) wraps it, and what is
wrapped is counted record by record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.table import BATCH_ROWS, Table
from engine.tables.sources.valid_batch import valid_batch


class CountedTable(ParquetFile):
    """A Parquet file and its combinations.

    Parameters
    ----------
    path : Path
        Its columns have different names.
    combinations : pyarrow Table
        Values of some of its columns, in its types; one combination may come more than once.
    records : pyarrow Array or ChunkedArray
        Records with each, whole numbers of 64 bits.

    Attributes
    ----------
    asked : bool
        Whether somebody took the counts instead of counting records.

    Raises
    ------
    InvalidData
        The file cannot be read, or the counts are not of it: a column or a type differs, a number is not positive, or
        all together are not the records of the file.
    """

    def __init__(self, path: Path, combinations: pa.Table, records: pa.Array | pa.ChunkedArray) -> None:
        super().__init__(path)
        self._combinations, self._records = combinations, records
        self.asked = False
        names = combinations.schema.names
        if not set(names) <= set(self.schema.names) or any(
            plain_type(self.schema.field(name).type) != combinations.schema.field(name).type for name in names
        ):
            raise InvalidData("the counted combinations have other columns than the table, or other types")
        fit = records.type == pa.int64() and len(records) == combinations.num_rows and not records.null_count
        if not fit or (len(records) and pc.min(records).as_py() < 1):
            raise InvalidData("the counted combinations have a number of records that is none")
        if (pc.sum(records).as_py() or 0) != pa.parquet.read_metadata(path).num_rows:
            raise InvalidData("the counted combinations do not come to the records of the table")

    def has_counted(self, columns: Sequence[str]) -> bool:
        """Whether combinations of these columns follow from the counted ones."""
        return set(columns) <= set(self._combinations.schema.names)

    def tuples(self, table: Table, columns: Sequence[str], /) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """See `engine.tables.counting.provisional_tuples.Tuples`; `table` is this one."""
        del table
        self.asked = True
        records = self._records.to_numpy()
        start = 0
        for batch in self._combinations.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS):
            yield valid_batch(batch), records[start : start + batch.num_rows]
            start += batch.num_rows
