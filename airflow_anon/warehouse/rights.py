"""What a transaction must be, and its role may do, before anything is counted.

In: a connection within its transaction. Out: nothing, or an error that names the statement and the grant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.dialects.dialect import Dialect
from airflow_anon.dialects.postgresql import POSTGRESQL
from airflow_anon.dialects.registry import proven_dialect
from airflow_anon.transport.search_path import refuse_others_in

if TYPE_CHECKING:
    from sqlalchemy import Connection

ONE_MOMENT = ("repeatable read", "serializable")


def prepare_snapshot(connection: Connection, schema: str | None) -> Dialect:
    """Refuse a database, a transaction or a role with which a job in the warehouse would not be safe, or would fail.

    Parameters
    ----------
    schema : str or None
        Where tables are to be created; None is the role's own.

    Returns
    -------
    Dialect
        What the database does.

    Raises
    ------
    AirflowFailException
        Names what is missing, and the grant.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    how = proven_dialect(connection.dialect.name)
    for setting in (*how.settings, *how.grouping):
        connection.execute(text(setting))
    if how is POSTGRESQL:
        refuse_others_in(connection)
        _refuse_rights(connection, schema)
    return how


def refuse_other_letters(connection: Connection) -> None:
    """Refuse to tell persons in a database that does not know all letters, by which those that are alike are found.

    Raises
    ------
    AirflowFailException
        Names its encoding.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name != POSTGRESQL.name:
        return
    encoding = connection.scalar(text("SELECT current_setting('server_encoding')"))
    if encoding != "UTF8":
        raise AirflowFailException(
            f"subject: the database keeps texts as {encoding}, and persons are told apart by all letters of Unicode; "
            "let the database be one of UTF8, or set backend: auto"
        )


def _refuse_rights(connection: Connection, schema: str | None) -> None:
    """Refuse a transaction of PostgreSQL without a snapshot, and a role that may not create tables."""
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    isolation = connection.scalar(text("SELECT current_setting('transaction_isolation')"))
    if isolation not in ONE_MOMENT:
        raise AirflowFailException(
            f"backend sql: the transaction is {isolation}, and must be REPEATABLE READ, so that all counts are of one "
            "moment; take the isolation level out of the extras of the connection"
        )
    where, role, exists, may = connection.execute(
        text(
            "SELECT quoted, pg_catalog.quote_ident(current_user), pg_catalog.to_regnamespace(quoted) IS NOT NULL, "
            "pg_catalog.has_schema_privilege(CAST(pg_catalog.to_regnamespace(quoted) AS oid), 'CREATE') "
            "FROM pg_catalog.quote_ident(coalesce(CAST(:schema AS text), CAST(current_schema() AS text))) AS quoted"
        ),
        {"schema": schema},
    ).one()
    if not exists:
        raise AirflowFailException(
            f"backend sql: there is no schema {where or 'of the role'} for the release; create it, or correct "
            "output.table"
        )
    if not may:
        raise AirflowFailException(
            f"backend sql: CREATE TABLE is refused in schema {where}; GRANT CREATE, USAGE ON SCHEMA {where} TO {role}"
        )
