"""Tables in which a row counts as several persons.

In: a table with a column `persons`. Out: its rows with the number of persons of each; none is repeated, so that memory
does not depend on the number of persons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.spec import MOST_RECORDS
from engine.tables.sources.table import Table

PERSONS = "persons"
"""The column of a population file with the number of persons per row."""


class PersonTable:
    """A table whose rows count as several persons each."""

    def __init__(self, table: Table, where: str) -> None:
        self._table = table
        self._where = where
        self.schema = pa.schema([field for field in table.schema if field.name != PERSONS])

    def counted(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """Read the wanted columns of the rows that stand for anybody, with the persons of each, shape (rows,).

        Raises
        ------
        InvalidData
            The column `persons` has values other than whole numbers from 0, or they are more than 10**15 in all.
        """
        everybody = 0.0
        for batch in self._table.batches([*columns, PERSONS]):
            persons = self._persons(batch.column(PERSONS))
            everybody += float(persons.sum(dtype=np.float64))
            if everybody > MOST_RECORDS:
                raise InvalidData(
                    f"{self._where}: the column {PERSONS!r} adds up to more than {MOST_RECORDS} persons; correct "
                    "it, or rename it if it means something else"
                )
            there = persons > 0
            yield batch.select(list(columns)).filter(pa.array(there)), persons[there]

    def _persons(self, column: pa.Array) -> NDArray[np.int64]:
        try:
            numbers = pc.cast(column, pa.int64())
        except pa.ArrowException:
            numbers = None
        if numbers is None or numbers.null_count or (len(numbers) and pc.min(numbers).as_py() < 0):
            raise InvalidData(
                f"{self._where}: the column {PERSONS!r} says how many persons a row stands for, and holds something "
                "else than whole numbers from 0; correct it, or rename it if it means something else"
            )
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)


def by_person(table: Table, columns: Collection[str], where: str) -> Table | PersonTable:
    """Return a population by persons, if it has the column `persons`; `columns` are those that the job reads."""
    weighted = PERSONS in table.schema.names and PERSONS not in columns
    return PersonTable(table, where) if weighted else table


def counted_batches(
    table: Table | PersonTable, columns: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """Read the wanted columns of a population, with the persons that each row stands for, shape (rows,).

    Raises
    ------
    InvalidData
        See `PersonTable.counted`.
    """
    if isinstance(table, PersonTable):
        yield from table.counted(columns)
        return
    for batch in table.batches(columns):
        yield batch, np.ones(batch.num_rows, np.int64)
