"""Tables in which a row counts as several persons, read as if each person had a row.

In: a table with a column `persons`. Out: a `Table` of persons, in batches of bounded size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData
from engine.tables.source import Table

PERSONS = "persons"
"""The column of a population file with the number of persons per row."""

_AT_ONCE = 1 << 20
_MOST = 10**10
"""Persons of one row: more than live on Earth."""


class PersonTable:
    """A table of persons."""

    def __init__(self, table: Table, where: str) -> None:
        self._table = table
        self._where = where
        self.schema = pa.schema([field for field in table.schema if field.name != PERSONS])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            The column `persons` has values other than whole numbers from 0, or larger than any population.
        """
        for batch in self._table.batches([*columns, PERSONS]):
            ends = np.cumsum(self._persons(batch.column(PERSONS)))
            persons = int(ends[-1]) if ends.size else 0
            for first in range(0, persons, _AT_ONCE):
                numbers = np.arange(first, min(first + _AT_ONCE, persons))
                rows = np.searchsorted(ends, numbers, side="right")
                yield batch.select(list(columns)).take(pa.array(rows))

    def _persons(self, column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        try:
            numbers = pc.cast(column, pa.int64())
        except pa.ArrowException:
            numbers = None
        if numbers is None or numbers.null_count or (len(numbers) and not _possible(numbers)):
            raise InvalidData(
                f"{self._where}: the column {PERSONS!r} says how many persons a row stands for, and holds something "
                f"else than whole numbers from 0 to {_MOST}; correct it, or rename it if it means something else"
            )
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)


def by_person(table: Table, columns: Collection[str], where: str) -> Table:
    """Return a population by persons, if it has the column `persons`; `columns` are those that the job reads."""
    weighted = PERSONS in table.schema.names and PERSONS not in columns
    return PersonTable(table, where) if weighted else table


def _possible(numbers: pa.Array) -> bool:
    return bool(pc.min(numbers).as_py() >= 0 and pc.max(numbers).as_py() <= _MOST)
