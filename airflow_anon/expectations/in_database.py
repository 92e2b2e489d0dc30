"""The class table of a release that stands in a database: counted there, by SQL of its own.

In: a connection and the table. Out: what the expectations judge, as of a file (`class_table`). Nothing is shared with
the statements that made the table and counted it for the engine: names, types and counts are asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.expectations.class_table import ClassTable, class_table_of_counts
from airflow_anon.expectations.people_in_database import people_of_release, staying_rows
from airflow_anon.transport.column import Column
from airflow_anon.transport.column_types import typed_columns
from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.database_read import batch_of_rows
from airflow_anon.transport.mariadb_columns import told_columns
from airflow_anon.transport.relation import Relation, describe

if TYPE_CHECKING:
    from sqlalchemy import Connection

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class ReleasedTable:
    """A table that holds a release.

    Attributes
    ----------
    connection : Connection
        In a transaction that sees one snapshot.
    name : str
    schema : str or None
    """

    connection: Connection
    name: str
    schema: str | None

    def class_table(self, quasi_identifiers: Sequence[str], others: Sequence[str]) -> ClassTable:
        """Count its classes; columns that it lacks are not counted."""
        columns = self._columns()
        names = [column.name for column in columns]
        keys = [name for name in dict.fromkeys(quasi_identifiers) if name in names]
        values = [name for name in dict.fromkeys(others) if name in names and name not in keys]
        wanted = [column for name in [*keys, *values] for column in columns if column.name == name]
        schema = pa.schema([(column.name, column.type) for column in columns])
        return class_table_of_counts(schema, keys, values, self._counted(wanted))

    def people(self, columns: Sequence[str]) -> pa.Table:
        """Count whose its records are; see `people_in_database`."""
        return people_of_release(self.connection, self.name, self.schema, columns)

    def staying_rows(self, source_rows: int, most: int) -> int:
        """Return how many rows of the source stay if each person has at most so many; see `people_in_database`."""
        return staying_rows(self.connection, self.name, self.schema, source_rows, most)

    def _counted(self, columns: Sequence[Column]) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        """Count combinations, or, of a database whose own counts are not judged, count each record as one."""
        if not DIALECTS[self.connection.dialect.name].counts_release:
            yield from self._records(columns)
            return
        selected = [
            f'{column.expression} COLLATE "C"' if column.type == pa.string() else column.expression
            for column in columns
        ]
        # equal numbers with different texts, such as the two zeros, are two values
        numbers = [f"CAST({column.expression} AS text)" for column in columns if column.type == pa.float64()]
        grouped = ", ".join([*selected, *numbers])
        words = f"SELECT {', '.join([*selected, 'count(*)'])} FROM {self._from}"
        options = {**PLAIN, "stream_results": True, "max_row_buffer": BATCH_ROWS}
        rows = self.connection.exec_driver_sql(
            f"{words} GROUP BY {grouped}" if grouped else words, execution_options=options
        )
        counted = Column("count", "count(*)", pa.int64())
        while part := rows.fetchmany(BATCH_ROWS):
            batch = batch_of_rows(part, [*columns, counted])
            width = len(columns)
            yield batch.select(list(range(width))), batch.column(width)

    def _records(self, columns: Sequence[Column]) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        # a table has at least one column, also where none is wanted
        listed = ", ".join(["1", *(column.expression for column in columns)])
        options = {**PLAIN, "stream_results": True, "max_row_buffer": BATCH_ROWS}
        rows = self.connection.exec_driver_sql(f"SELECT {listed} FROM {self._from}", execution_options=options)
        one = Column("one", "1", pa.int64())
        while part := rows.fetchmany(BATCH_ROWS):
            batch = batch_of_rows(part, [one, *columns])
            yield batch.select(list(range(1, len(columns) + 1))), batch.column(0)

    @property
    def _relation(self) -> Relation:
        return Relation.named(self.name, self.schema)

    @property
    def _from(self) -> str:
        return self._relation.from_clause(names_of(self.connection.dialect))

    def _columns(self) -> list[Column]:
        if self.connection.dialect.name == MARIADB.name:
            return told_columns(self.connection, self._relation, None, is_ours=True)
        description = describe(self.connection, self._relation)
        names = [entry[0] for entry in description]
        return typed_columns(self.connection, self._relation, description, names)
