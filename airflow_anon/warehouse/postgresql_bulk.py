"""Whole numbers out of PostgreSQL, and rows of a helper table into it, by COPY over psycopg.

In: a question whose columns are whole numbers, none missing; or a table and rows for it. Out: int64 arrays, part by
part; or the rows are there. A driver that makes Python's values of each cell takes five times as long, and one
statement for each row ten times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql

from airflow_anon.transport.connection import names_of
from airflow_anon.transport.postgresql_content import BATCH_BYTES
from airflow_anon.transport.postgresql_copy import copied, driver_errors, driver_of

if TYPE_CHECKING:
    from sqlalchemy import Connection


def copied_numbers(connection: Connection, asked: sa.Select[Any]) -> Iterator[list[NDArray[np.int64]]]:
    """Yield the columns of an answer, part by part.

    Raises
    ------
    DBAPIError
        Of SQLAlchemy: the server ends the statement.
    """
    # by a style of parameters that does not double the signs of names and values
    written = asked.compile(dialect=postgresql.dialect(paramstyle="named"), compile_kwargs={"literal_binds": True})
    statement = f"COPY ({written}) TO STDOUT (FORMAT csv)"
    names = [str(place) for place in range(len(asked.selected_columns))]
    lines = pc.ParseOptions(ignore_empty_lines=False)
    types = pc.ConvertOptions(column_types=dict.fromkeys(names, pa.int64()))
    with (
        driver_errors(connection, statement),
        closing(copied(driver_of(connection), statement, BATCH_BYTES)) as parts,
    ):
        for part in parts:
            options = pc.ReadOptions(column_names=names, block_size=len(part) + 1, use_threads=False)
            table = pc.read_csv(pa.BufferReader(pa.py_buffer(part)), options, lines, types)
            yield [np.array(column.combine_chunks().to_numpy()) for column in table.columns]


def copy_rows(connection: Connection, table: sa.Table, rows: Sequence[Sequence[Any]]) -> None:
    """Write rows into a table of the same columns.

    Raises
    ------
    DBAPIError
        Of SQLAlchemy: the server refuses them.
    """
    names = names_of(connection.dialect)
    columns = ", ".join(names.quote(column.name) for column in table.c)
    statement = f"COPY {names.format_table(table)} ({columns}) FROM STDIN"
    with driver_errors(connection, statement), driver_of(connection).cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
