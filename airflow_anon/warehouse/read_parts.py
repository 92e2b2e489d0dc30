"""What a database answers, read in parts, and made columns of Arrow.

In: a question and the columns it is about, which errors name. Out: rows, at most `BATCH_ROWS` at once; of the cells of
a column, an array of the type that a backend reads from a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from airflow_anon.transport import postgresql_copy
from airflow_anon.warehouse import postgresql_bulk
from engine import InvalidData

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy import Connection

BATCH_ROWS = 65_536


def read_parts(
    connection: Connection, asked: sa.Select[Any], columns: Sequence[str]
) -> Iterator[Sequence[Sequence[Any]]]:
    """Read an answer about some columns in parts, by a cursor of the server where there are any.

    Raises
    ------
    InvalidData
        The driver cannot read a value; the columns are named.
    """
    options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
    parts: Iterator[Sequence[Sequence[Any]]] | None = None
    while True:
        try:
            if parts is None:
                parts = connection.execute(asked, execution_options=options).partitions(BATCH_ROWS)
            rows = next(parts, None)
        except (OverflowError, ValueError):  # of the driver
            raise unlike(", ".join(map(repr, columns)), "date, number or text that a driver reads") from None
        if rows is None:
            return
        yield rows


def read_numbers(
    connection: Connection, asked: sa.Select[Any], columns: Sequence[str]
) -> Iterator[Sequence[NDArray[np.int64]]]:
    """Read an answer of whole numbers, none missing, about some columns in parts; yield its columns.

    Raises
    ------
    InvalidData
        As of `read_parts`.
    """
    if postgresql_copy.serves(connection):
        yield from postgresql_bulk.copied_numbers(connection, asked)
        return
    for rows in read_parts(connection, asked, columns):
        yield [np.array(cells, np.int64) for cells in zip(*rows, strict=True)]


def array_of(cells: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return the cells of a column as an array of its type.

    Raises
    ------
    InvalidData
        A cell is no such value; the column is named.
    """
    try:
        return pa.array(cells, type=field.type)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        raise unlike(repr(field.name), str(field.type)) from None


def unlike(columns: str, kind: str) -> InvalidData:
    """Return the error of a value that is not of the kind of its column."""
    return InvalidData(
        f"column {columns}: holds a value that is no {kind}, such as an infinite date or a number that is none, which "
        "two backends would write differently; correct it, or make the column text in a query"
    )
