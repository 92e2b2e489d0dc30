"""The combinations of values of a staged table, with the number of rows of each: counted, or corrected by what changed.

In: batches of rows that came or went. Out: `counts.parquet`, the columns that a job counts together and, last, the rows
with each combination, int64. They are values as the source has them, so that no hierarchy or other word of the job is
in them. Where they would not save anything, or do not fit the table, there are none, and all rows are counted.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from airflow.sdk import ObjectStoragePath

ROWS = "airflow_anon_rows"
ROWS_PER_COMBINATION = 8
"""A table needs so many rows per combination: counting these again and again takes longer than counting few rows."""
MOST = 1 << 21
"""Combinations at most, which are held in memory."""
_WAITING = 1 << 17
_TOO_MANY = "its rows have too many different combinations of values for counts to save something"


class NotCountedError(Exception):
    """All rows must be counted; the text says why, without a value."""


class Counts:
    """Numbers of rows by combination of values.

    Parameters
    ----------
    columns : sequence of str
        Whose values are combined.
    most : int
        Combinations at most.
    """

    def __init__(self, columns: Sequence[str], most: int = MOST) -> None:
        self.columns = list(columns)
        self._most = most
        self._parts: list[pa.Table] = []
        self._waiting = 0
        self._merge_above = _WAITING

    def add(self, rows: pa.RecordBatch | pa.Table, times: int = 1) -> None:
        """Add rows that have `columns`, or with `times` -1 take them away."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)
        import pyarrow as pa  # noqa: PLC0415

        if rows.num_rows:
            own = pa.table({name: rows.column(name) for name in self.columns})
            self._add(own.append_column(ROWS, pa.array(np.full(rows.num_rows, times, np.int64))))

    def add_counted(self, table: pa.Table) -> None:
        """Add combinations that were counted before, of the form of `total`."""
        self._add(table)

    def total(self, schema: pa.Schema, rows: int) -> pa.Table:
        """Return the combinations in the types of a table that has so many rows.

        Raises
        ------
        NotCountedError
            They do not fit the table, or are too many to save something.
        """
        import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
        import pyarrow.compute as pc  # noqa: PLC0415

        wanted = pa.schema([*(schema.field(name) for name in self.columns), pa.field(ROWS, pa.int64())])
        self._merge()
        [whole] = self._parts or [wanted.empty_table()]
        try:
            whole = whole.cast(wanted)
        except (pa.ArrowException, ValueError):
            raise NotCountedError("a column has another type than before") from None
        counts = whole[ROWS]
        if whole.num_rows and pc.min(counts).as_py() < 0:
            raise NotCountedError("rows are gone that were not counted")
        whole = whole.filter(pc.greater(counts, 0))
        if (pc.sum(whole[ROWS]).as_py() or 0) != rows:
            raise NotCountedError("the counts do not come to the rows of the table")
        if whole.num_rows > _most_of(rows):
            raise NotCountedError(_TOO_MANY)
        return whole

    def _add(self, table: pa.Table) -> None:
        self._parts.append(table)
        self._waiting += table.num_rows
        if self._waiting > self._merge_above:
            self._merge()
            merged = self._parts[0].num_rows
            if merged > self._most:
                raise NotCountedError(_TOO_MANY)
            # else each further batch of a table with many combinations would group them all again
            self._waiting, self._merge_above = 0, max(_WAITING, merged)

    def _merge(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

        if not self._parts:
            return
        try:
            whole = pa.concat_tables(self._parts, promote_options="permissive")
            # keys are compared by their bits: 0.0 and -0.0 stay apart
            grouped = whole.group_by(self.columns, use_threads=False).aggregate([(ROWS, "sum")])
        except (pa.ArrowException, NotImplementedError):
            raise NotCountedError("a column has a type that cannot be grouped, or another than before") from None
        self._parts = [grouped.rename_columns([*self.columns, ROWS])]


def _most_of(rows: int) -> int:
    return min(MOST, rows // ROWS_PER_COMBINATION)


def counts_of(path: ObjectStoragePath, columns: Sequence[str]) -> pa.Table:
    """Count the rows of a staged table.

    Raises
    ------
    NotCountedError
        As of `Counts.total`.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    with path.open("rb") as file, pq.ParquetFile(file) as table:
        # with many combinations it is known early that they are too many
        counts = Counts(columns, _most_of(table.metadata.num_rows))
        for batch in table.iter_batches(columns=list(columns)):
            counts.add(batch)
        return counts.total(table.schema_arrow, table.metadata.num_rows)


def as_bytes(counts: pa.Table) -> bytes:
    """Return the content of `counts.parquet`."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    content = io.BytesIO()
    pq.write_table(counts, content, compression="zstd")
    return content.getvalue()


def read_counts(content: bytes) -> pa.Table:
    """Return the counts that `as_bytes` wrote.

    Raises
    ------
    NotCountedError
        They cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        return pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError):
        raise NotCountedError("the counts are damaged") from None
