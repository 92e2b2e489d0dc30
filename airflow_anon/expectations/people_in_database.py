"""Whose the records of a release are that stands in a database: counted outside of it, by a statement of its own.

In: a connection, and the name of the release. Beside its table stands one with its records before they were
generalized, as combinations of values and the number of a person. Out: these combinations; no identifier is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.share.made_table import people_name
from airflow_anon.transport.column import Column
from airflow_anon.transport.column_types import typed_columns
from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.database_read import batch_of_rows
from airflow_anon.transport.mariadb_columns import told_columns
from airflow_anon.transport.relation import Relation, describe
from engine import InvalidData

if TYPE_CHECKING:
    from sqlalchemy import Connection

PERSON, STAYS, BEYOND = "person", "rows that stay", "rows beyond"
_COUNTED = ("person", "further", "records")
_BATCH_ROWS = 65_536
_AGAIN = "run the de-identification again"


def people_of_release(connection: Connection, release: str, schema: str | None, columns: Sequence[str]) -> pa.Table:
    """Read combinations of values and a person, each once, or twice if it has rows that stay and rows beyond.

    Parameters
    ----------
    columns : sequence of str
        What the values are of: quasi-identifiers, then the sensitive attributes that models read, as in the job.

    Returns
    -------
    pyarrow Table
        A column for each of `columns`, named by its place; `person`; `rows that stay` and `rows beyond` the most of a
        person, int64. Of rows beyond the values are missing.

    Raises
    ------
    InvalidData
        The table is gone, or has other columns.
    """
    relation = Relation.named(people_name(release), schema)
    names = [f"value{place}" for place in range(len(columns))]
    description = _described(connection, relation)
    if [entry[0] for entry in description] != [*names, *_COUNTED]:
        raise InvalidData(f"the table that says whose the records are is not that of the job; {_AGAIN}")
    values = _typed(connection, relation, description, names)
    counts = [Column(name, name, pa.int64()) for name in _COUNTED]
    batches = []
    for batch in _rows(connection, relation, [*values, *counts]):
        *cells, persons, further, records = batch.columns
        none = pa.repeat(pa.scalar(0, pa.int64()), batch.num_rows)
        stays = pc.equal(further, 0)
        numbers = [persons, pc.if_else(stays, records, none), pc.if_else(stays, none, records)]
        batches.append([*cells, *numbers])
    kinds = [(str(place), one.type) for place, one in enumerate(values)]
    shape = pa.schema([*kinds, *((name, pa.int64()) for name in (PERSON, STAYS, BEYOND))])
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(batch, schema=shape) for batch in batches], shape)


def staying_rows(connection: Connection, release: str, schema: str | None, source_rows: int, most: int) -> int:
    """Return how many rows of the source stay if each person has at most so many.

    Raises
    ------
    InvalidData
        The table is gone, or has other records than the source had.
    """
    relation = Relation.named(people_name(release), schema)
    _described(connection, relation)
    columns = [Column(name, name, pa.int64()) for name in ("person", "records")]
    shape = pa.schema([(column.name, column.type) for column in columns])
    rows = pa.Table.from_batches([*_rows(connection, relation, columns)], shape)
    of_person = rows.group_by("person", use_threads=False).aggregate([("records", "sum")])["records_sum"]
    if (pc.sum(of_person).as_py() or 0) != source_rows:
        raise InvalidData(f"the table that says whose the records are has other records than the source; {_AGAIN}")
    return int(pc.sum(pc.min_element_wise(of_person, int(most))).as_py() or 0)


def _typed(
    connection: Connection, relation: Relation, description: Sequence[Sequence[Any]], names: Sequence[str]
) -> list[Column]:
    if connection.dialect.name == MARIADB.name:
        return told_columns(connection, relation, names, is_ours=True)
    return typed_columns(connection, relation, description, names)


def _rows(connection: Connection, relation: Relation, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table; nothing is compared by the database."""
    listed = ", ".join(column.expression for column in columns)
    rows = connection.exec_driver_sql(
        f"SELECT {listed} FROM {relation.from_clause(names_of(connection.dialect))}",
        execution_options={**PLAIN, "stream_results": True, "max_row_buffer": _BATCH_ROWS},
    )
    while part := rows.fetchmany(_BATCH_ROWS):
        yield batch_of_rows(part, columns)


def _described(connection: Connection, relation: Relation) -> Sequence[Sequence[Any]]:
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        return describe(connection, relation)
    except sa.exc.DBAPIError:
        raise InvalidData(f"the table that says whose the records are is gone; {_AGAIN}") from None
