"""Values of a source that no driver, or no table of ours, holds as they are: of some a driver silently makes others.

In: the source and the types of its columns. Out: nothing, or an error that names the column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import sqlalchemy as sa

from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.read_parts import unlike

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LARGEST = 2**63 - 1


def refuse_odd_values(connection: Connection, source: sa.Subquery, columns: pa.Schema) -> None:
    """Refuse values that two backends would write differently.

    Raises
    ------
    InvalidData
        A column holds one.
    """
    how = DIALECTS[connection.dialect.name]
    odd: list[tuple[str, str, sa.ColumnElement[bool]]] = []
    for field in columns:
        column = source.c[field.name]
        if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            odd.append((field.name, "moment of the years 1 to 9999", statements.is_far(column)))
        else:
            condition = how.odd(column)
            odd += [] if condition is None else [(field.name, str(field.type), condition)]
    conditions = [condition for _, _, condition in odd]
    found = connection.execute(statements.occur(conditions)).one() if odd else ()
    for (name, kind, _), occurs in zip(odd, found, strict=True):
        if occurs:
            raise unlike(repr(name), kind)


def refuse_large_numbers(connection: Connection, source: sa.Subquery, columns: pa.Schema) -> None:
    """Refuse whole numbers that no table of ours holds; a database that copies them does not say it in one way.

    Raises
    ------
    InvalidData
        A column holds one.
    """
    for field in filter(lambda one: pa.types.is_integer(one.type), columns):
        largest = connection.scalar(sa.select(sa.func.max(source.c[field.name])))
        if largest is not None and largest > _LARGEST:
            raise unlike(repr(field.name), str(field.type)) from None
