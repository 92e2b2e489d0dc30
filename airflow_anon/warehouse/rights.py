"""What a transaction must be, and its role may do, before anything is counted.

In: a connection within its transaction. Out: nothing, or an error that names the statement and the grant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

if TYPE_CHECKING:
    from sqlalchemy import Connection

PROVEN = ("postgresql",)
ONE_MOMENT = ("repeatable read", "serializable")
_SETTINGS = (
    # so that moments and numbers have one text, whatever the settings of the role
    "SET LOCAL TIME ZONE 'UTC'",
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL intervalstyle = 'postgres'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL bytea_output = 'hex'",
)


def refuse_unproven(dialect: str) -> None:
    """Refuse a database, by the name of its dialect, in which no job was proven to run.

    Raises
    ------
    AirflowFailException
        Names the databases in which they were.
    """
    if dialect not in PROVEN:
        raise AirflowFailException(
            f"backend sql: was proven on {', '.join(PROVEN)}, and this connection is of {dialect}; set backend: auto"
        )


def prepare_snapshot(connection: Connection, schema: str | None) -> None:
    """Refuse a database, a transaction or a role with which a job in the warehouse would not be safe, or would fail.

    Parameters
    ----------
    schema : str or None
        Where tables are to be created; None is the role's own.

    Raises
    ------
    AirflowFailException
        Names what is missing, and the grant.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    refuse_unproven(connection.dialect.name)
    isolation = connection.scalar(text("SELECT current_setting('transaction_isolation')"))
    if isolation not in ONE_MOMENT:
        raise AirflowFailException(
            f"backend sql: the transaction is {isolation}, and must be REPEATABLE READ, so that all counts are of one "
            "moment; take the isolation level out of the extras of the connection"
        )
    for setting in _SETTINGS:
        connection.execute(text(setting))
    where, role, exists, may = connection.execute(
        text(
            "SELECT coalesce(:schema, current_schema()), current_user, "
            "to_regnamespace(quote_ident(coalesce(:schema, current_schema()))) IS NOT NULL, "
            "has_schema_privilege(to_regnamespace(quote_ident(coalesce(:schema, current_schema()))), 'CREATE')"
        ),
        {"schema": schema},
    ).one()
    if not exists:
        raise AirflowFailException(
            f"backend sql: there is no schema {where!r} for the release; create it, or correct output.table"
        )
    if not may:
        raise AirflowFailException(
            f"backend sql: CREATE TABLE is refused in schema {where!r}; GRANT CREATE, USAGE ON SCHEMA {where} TO {role}"
        )
