"""Publishes a release that was made inside a database in which CREATE, DROP and RENAME commit: by its rows alone.

In: the table of the release, and that of the share. Out: the same table of the share, made empty before if it was not
there, whose records are deleted and inserted in the transaction that books the release. What is then in it is compared
with what was made, before the transaction is committed: who changes either table meanwhile is found out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.share.made_table import MadeTable, check_made, holds_made
from airflow_anon.share.sql_obstacles import refuse_obstacles
from airflow_anon.share.sql_types import types_in

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from airflow_anon.dialects.dialect import Dialect


def refuse_open(connection: Connection, schema: str | None, name: str) -> None:
    """Refuse a table in the schema of the connection.

    Releases wait there, with helper tables, and who may read a whole schema would see them: no table of it can be
    closed to them.

    Raises
    ------
    AirflowFailException
        Says where releases wait.
    """
    own = connection.dialect.default_schema_name
    if schema is None or own is None or schema.casefold() == own.casefold():
        raise AirflowFailException(
            f"output.table: {name!r} is in the database of the connection ({own or 'none'}), where releases wait until "
            "they are published, and which nobody else should read; write database.table with another one, or give "
            "the connection a database of its own"
        )


def prepare_target(connection: Connection, made: Table, bookkeeping: Table, name: str) -> None:
    """Make the table of the share, empty, if it is not there.

    Raises
    ------
    AirflowFailException
        It has other columns than the release, or its changes are not taken back with their transaction.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    schema = bookkeeping.schema
    target = made.to_metadata(sa.MetaData(), schema=schema, name=name)
    connection.execute(sa.schema.CreateTable(target, if_not_exists=True))
    connection.commit()
    # in their order
    there, wanted = types_in(connection, schema, name), types_in(connection, made.schema, made.name)
    if [*there.items()] != [*wanted.items()]:
        raise AirflowFailException(
            f"output table {name!r}: has other columns than the release, and a database of {connection.dialect.name} "
            "does not replace a table together with its bookkeeping; name another table, or drop this one between two "
            "nights: readers have none until the next release"
        )
    names = [name, bookkeeping.name]
    left = _how(connection).without_transactions(connection, schema, names)
    left += _how(connection).without_transactions(connection, made.schema, [made.name])
    if left:
        raise AirflowFailException(
            f"output table {name!r}: {', '.join(map(repr, left))} keeps changes of a transaction that ends early, so "
            "readers could see half of a release; ALTER TABLE … ENGINE = InnoDB, or drop it between two nights"
        )


def admit_alone(connection: Connection, schema: str | None, name: str) -> None:
    """Admit one publisher at a time, until the connection is closed."""
    alone = _how(connection).alone
    if alone is not None:
        alone(connection, f"{schema}.{name}")


def replace_rows(connection: Connection, made: Table, told: MadeTable, name: str, schema: str | None) -> None:
    """Give the table of the share the records of a release, within the transaction of a connection, and compare them.

    Raises
    ------
    AirflowFailException
        It has others now, or see `refuse_obstacles`.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    target = made.to_metadata(sa.MetaData(), schema=schema, name=name)
    connection.execute(target.delete())
    names = [column.name for column in made.columns]
    connection.execute(target.insert().from_select(names, sa.select(made)))
    if not holds_made(connection, schema, {**told, "name": name}):
        # one of the two is to blame
        check_made(connection, made.schema, told)
        raise AirflowFailException(
            f"output table {name!r}: does not hold what was written into it, a trigger of it changes records, or "
            "somebody else writes there, so nothing is changed; drop the trigger, or name another table"
        )
    refuse_obstacles(connection, name, schema)


def _how(connection: Connection) -> Dialect:
    from airflow_anon.dialects.registry import proven_dialect  # noqa: PLC0415 (heavy imports belong into execute)

    return proven_dialect(connection.dialect.name)
