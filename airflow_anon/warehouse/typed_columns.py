"""How the columns of a relation are read inside a database, and of which type of Arrow they are.

As an extraction reads them, but for what a cast within the database would change: padded text keeps its spaces, and a
number of single precision is widened there as a driver of Arrow widens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.transport.column import Column
from airflow_anon.transport.column_types import typed_columns
from airflow_anon.transport.mariadb_columns import told_columns
from airflow_anon.transport.relation import Relation, describe

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BPCHAR = 1042


def typed(
    connection: Connection, relation: Relation, names: Sequence[str] | None, *, is_ours: bool = False
) -> list[Column]:
    """Return how columns of a relation are read, all of them without `names`; of a table of ours as it was made."""
    if connection.dialect.name == MARIADB.name:
        return told_columns(connection, relation, names, is_ours=is_ours)
    description = describe(connection, relation)
    wanted = [entry[0] for entry in description] if names is None else names
    codes = {entry[0]: entry[1] for entry in description}
    return [_exact(column, codes[column.name]) for column in typed_columns(connection, relation, description, wanted)]


def _exact(column: Column, code: Any) -> Column:
    sql = column.expression
    if code == _BPCHAR:
        # a cast to text would cut the spaces at the end
        return Column(column.name, f"CASE WHEN {sql} IS NOT NULL THEN concat({sql}) END", column.type)
    if column.type == pa.float64():
        return Column(column.name, f"CAST({sql} AS double precision)", column.type)
    return column
