"""From the Arrow schema of a release to the columns of a SQL table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Column, Connection


def sql_columns(schema: pa.Schema, dialect: str) -> list[Column[Any]]:
    """Return one nullable column per field, in their order."""
    from sqlalchemy import Column  # noqa: PLC0415 (heavy imports belong into execute)

    return [Column(field.name, sql_type(field, dialect), nullable=True) for field in schema]


def sql_type(field: pa.Field, dialect: str) -> Any:
    """Return the SQL type that keeps every value of the field.

    Raises
    ------
    AirflowFailException
        Names a column of a nested type.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    from airflow_anon.dialects.registry import DIALECTS  # noqa: PLC0415 (heavy imports belong into execute)

    kind, types = field.type, pa.types
    rules = (
        ("text", types.is_string, sa.Text),
        ("integer", types.is_integer, sa.BigInteger),
        ("number", types.is_floating, sa.Double),
        ("boolean", types.is_boolean, sa.Boolean),
        # SQLite would turn a decimal into a float.
        (
            "decimal",
            types.is_decimal,
            lambda: sa.Text() if dialect == "sqlite" else sa.Numeric(kind.precision, kind.scale),
        ),
        ("date", types.is_date, sa.Date),
        ("time", types.is_time, sa.Time),
        ("moment in UTC", lambda kind: types.is_timestamp(kind) and kind.tz is not None, lambda: sa.DateTime(True)),
        ("moment", types.is_timestamp, sa.DateTime),
        ("bytes", types.is_binary, sa.LargeBinary),
        ("text", types.is_null, sa.Text),
    )
    special = DIALECTS[dialect].types if dialect in DIALECTS else {}
    for name, matches, made in rules:
        if matches(kind):
            return special.get(name, made)()
    raise AirflowFailException(f"column {field.name!r}: has the type {kind}, which no table can hold; leave it out")


def types_in(connection: Connection, schema: str | None, table: str) -> dict[str, str]:
    """Return the columns of a table that is there, in its order, each with its type as the dialect writes it."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    columns = sa.inspect(connection).get_columns(table, schema=schema)
    return {column["name"]: column["type"].compile(connection.dialect) for column in columns}
