"""Whose the records of a release are that stands in a database: counted there, by SQL of its own.

In: a connection, and the name of the release. Beside its table stands one with its records before they were
generalized, as combinations of values and the number of a person. Out: these combinations; no identifier is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_anon.share.made_table import people_name
from airflow_anon.transport.column import Column
from airflow_anon.transport.column_types import typed_columns
from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.database_read import batch_of_rows
from airflow_anon.transport.relation import Relation, describe
from engine import InvalidData

if TYPE_CHECKING:
    from sqlalchemy import Connection

PERSON, STAYS, BEYOND = "person", "rows that stay", "rows beyond"
_BATCH_ROWS = 65_536
_AGAIN = "run the de-identification again"


def people_of_release(connection: Connection, release: str, schema: str | None, columns: Sequence[str]) -> pa.Table:
    """Count combinations of values and a person.

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
    relation = _relation(release, schema)
    names = [f"value{place}" for place in range(len(columns))]
    description = _described(connection, relation)
    if [entry[0] for entry in description] != [*names, "person", "further", "records"]:
        raise InvalidData(f"the table that says whose the records are is not that of the job; {_AGAIN}")
    values = typed_columns(connection, relation, description, names)
    told = [f'{one.expression} COLLATE "C"' if one.type == pa.string() else one.expression for one in values]
    # equal numbers with different texts, such as the two zeros, are two values
    also = [f"CAST({one.expression} AS text)" for one in values if one.type == pa.float64()]
    counts = [f"CAST(coalesce(sum(records) FILTER (WHERE further {sign} 0), 0) AS bigint)" for sign in ("=", "<>")]
    source = relation.from_clause(names_of(connection.dialect))
    numbers = [Column(name, "", pa.int64()) for name in (PERSON, STAYS, BEYOND)]
    rows = connection.exec_driver_sql(
        f"SELECT {', '.join([*told, 'person', *counts])} FROM {source} GROUP BY {', '.join([*told, *also, 'person'])}",
        execution_options={**PLAIN, "stream_results": True, "max_row_buffer": _BATCH_ROWS},
    )
    batches = []
    while part := rows.fetchmany(_BATCH_ROWS):
        batches.append(batch_of_rows(part, [*values, *numbers]))
    kinds = [(str(place), one.type) for place, one in enumerate(values)]
    shape = pa.schema([*kinds, *((one.name, pa.int64()) for one in numbers)])
    return pa.Table.from_batches([batch.rename_columns(shape.names) for batch in batches], shape)


def staying_rows(connection: Connection, release: str, schema: str | None, source_rows: int, most: int) -> int:
    """Return how many rows of the source stay if each person has at most so many.

    Raises
    ------
    InvalidData
        The table is gone, or has other records than the source had.
    """
    relation = _relation(release, schema)
    _described(connection, relation)
    source = relation.from_clause(names_of(connection.dialect))
    of_person = f"SELECT sum(records) AS n FROM {source} GROUP BY person"
    row: Any = connection.exec_driver_sql(
        f"SELECT sum(n), sum(least(n, {int(most)})) FROM ({of_person}) counted", execution_options=PLAIN
    ).one()
    if row[0] != source_rows:
        raise InvalidData(f"the table that says whose the records are has other records than the source; {_AGAIN}")
    return int(row[1])


def _described(connection: Connection, relation: Relation) -> Sequence[Sequence[Any]]:
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        return describe(connection, relation)
    except sa.exc.DBAPIError:
        raise InvalidData(f"the table that says whose the records are is gone; {_AGAIN}") from None


def _relation(release: str, schema: str | None) -> Relation:
    parts = [part for part in (schema, people_name(release)) if part is not None]
    return Relation(table=".".join('"' + part.replace('"', '""') + '"' for part in parts))
