"""Constraints of a table of a SQL share that no release of a job can meet, told before the run, and not at the switch.

In: a table of PostgreSQL, and the job. Out: nothing, or an error that names the constraint and the fix; and a warning
of those which a release may meet or not. A table with other columns than the release is replaced, and its constraints
are gone with it. Constraints of partitions count too.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import WAIT_SECONDS, hook_of, password_of
from airflow_anon.transport.failure import database_errors

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from engine import Job

_log = logging.getLogger(__name__)

_PARTS = """
WITH target AS (SELECT class.oid FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS space ON space.oid = relnamespace WHERE relname = CAST(:name AS name) AND CASE
WHEN CAST(:schema AS name) IS NULL THEN pg_catalog.pg_table_is_visible(class.oid)
ELSE nspname = CAST(:schema AS name) END),
parts AS (SELECT oid FROM target UNION SELECT relid FROM target CROSS JOIN pg_catalog.pg_partition_tree(target.oid))
"""
_COLUMNS = f"""{_PARTS}
SELECT DISTINCT CAST(attname AS text), attgenerated <> '' OR attidentity = 'a', attnotnull
FROM pg_catalog.pg_attribute JOIN parts ON attrelid = parts.oid WHERE attnum > 0 AND NOT attisdropped
"""
# An index is plain where equal records break it: it is not partial, and an exclusion compares by nothing else. A column
# is null where it is an expression.
_KEYS = f"""{_PARTS}
SELECT CAST(class.relname AS text), indpred IS NULL AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint
CROSS JOIN LATERAL unnest(conexclop) AS used (oid) JOIN pg_catalog.pg_operator AS compared ON compared.oid = used.oid
WHERE conindid = indexrelid AND contype = 'x' AND oprname <> '='),
ARRAY(SELECT CAST(attname AS text) FROM unnest(CAST(indkey AS int2[])) WITH ORDINALITY AS key (number, place)
LEFT JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key.number AND attnum > 0
WHERE place <= indnkeyatts ORDER BY place)
FROM pg_catalog.pg_index JOIN parts ON indrelid = parts.oid JOIN pg_catalog.pg_class AS class ON class.oid = indexrelid
WHERE indisunique OR indisexclusion
"""
_CHECKS = f"""{_PARTS}
SELECT DISTINCT CAST(conname AS text) FROM pg_catalog.pg_constraint JOIN parts ON conrelid = parts.oid
WHERE contype IN ('c', 'f')
"""


class _Key(NamedTuple):
    """A unique index or an exclusion: its name, whether equal records always break it, its columns."""

    name: str
    is_plain: bool
    columns: list[str | None]


def refuse_constraints(connection: Connection, name: str, schema: str | None, job: Job) -> None:
    """Refuse a table with the columns of a release and a constraint that none of the job can meet; warn of others.

    Raises
    ------
    AirflowFailException
        Names the column that the server fills itself, or the key that is of quasi-identifiers alone: these are equal in
        all records of a class.
    """
    from sqlalchemy import text  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name != "postgresql" or job.tables is not None:
        return
    told = {"name": name, "schema": schema}
    columns = connection.execute(text(_COLUMNS), told).all()
    if {column for column, *_ in columns} != {*job.released}:
        return
    filled = sorted({column for column, is_filled, _ in columns if is_filled})
    if filled:
        raise AirflowFailException(
            f"output table {name!r}: the server fills its column {_listed(filled)} itself (GENERATED ALWAYS), so it "
            "takes no release; make it a plain column, or name another table"
        )
    keys = [_Key(*row) for row in connection.execute(text(_KEYS), told)]
    broken = sorted({key.name for key in keys if key.is_plain and {*key.columns} <= {*job.quasi_identifiers}})
    if broken and job.minimum_class_size > 1:
        raise AirflowFailException(
            f"output table {name!r}: its key {_listed(broken)} (UNIQUE, PRIMARY KEY or EXCLUDE) is of quasi-"
            f"identifiers alone, which at least {job.minimum_class_size} records of a release have in common; drop it, "
            "or name another table"
        )
    may_fail = [
        *(key.name for key in keys),
        *connection.scalars(text(_CHECKS), told),
        *(f"NOT NULL of {column}" for column, _, is_needed in columns if is_needed),
    ]
    if may_fail:
        _log.warning(
            "output table %r: a release that does not meet %s is refused when it is published",
            name,
            _listed(sorted({*may_fail})),
        )


def refuse_before_run(job: Job) -> None:
    """Refuse a table that could not get a release, before one is made; nothing where it is not reached.

    Raises
    ------
    AirflowFailException
        In PostgreSQL as `refuse_constraints` and `SqlShare.refuse_unfit`; in SQLite two columns have one name.
    """
    output = job.output
    if output is None or output.table is None or output.conn_id is None:
        return
    try:
        hook = hook_of(output.conn_id)
    except AirflowFailException as problem:
        _log.warning("output table %r is not looked at before the run: %s", output.table, problem)
        return
    if hook.conn_type == "sqlite":
        _refuse_twins(job, output.table)
    if hook.conn_type != "postgres":
        return
    try:
        with database_errors(f"looking at table {output.table} over connection {output.conn_id!r}", password_of(hook)):
            share = SqlShare(hook, output.table, wait_seconds=WAIT_SECONDS)
            with share.engine.connect() as connection:
                share.refuse_unfit(connection)
                refuse_constraints(connection, share.name, share.schema, job)
    except AirflowFailException:
        raise
    except AirflowException as problem:  # publication tells of it, if it is still so
        _log.warning("output table %r is not looked at before the run: %s", output.table, problem)


def _refuse_twins(job: Job, table: str) -> None:
    """Refuse columns whose names differ in upper and lower case of ASCII alone, which SQLite takes for one."""
    seen: dict[bytes, str] = {}
    for name in job.released:
        twin = seen.setdefault(name.encode().lower(), name)
        if twin != name:
            raise AirflowFailException(
                f"output table {table!r}: columns {twin!r} and {name!r} differ in upper and lower case alone, which "
                "SQLite takes for one; rename one of them in the source, or name a table of PostgreSQL"
            )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))
