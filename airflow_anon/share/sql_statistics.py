"""Statistics that a database keeps of the columns of a table, which hold values of its records after these are gone.

In: a connection within the transaction that empties the table, or the engine after it. Out: the table without them.
PostgreSQL shows `pg_stats` to whoever may read the table, with up to 100 values of each column, and more with a higher
target; neither DELETE, TRUNCATE nor VACUUM takes them away, nor does ANALYZE of a table without records. MariaDB keeps
the least and the greatest value of each column in `mysql.column_stats`, where somebody had them collected: DELETE and
TRUNCATE leave them, and only ANALYZE takes them away, which ends a transaction. SQLite has counts in `sqlite_stat1`;
where a build with STAT4 has analysed the file, `sqlite_stat4` has values of indexed columns.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_anon.transport.connection import PLAIN, quoted_name, run_plain
from airflow_anon.transport.mariadb_session import is_mariadb

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_CLEARS = (18,)
"""The first version with a function that takes them away."""
_KEPT = """
FROM pg_catalog.pg_stats AS kept
JOIN pg_catalog.pg_namespace AS place ON place.nspname = kept.schemaname
JOIN pg_catalog.pg_class AS class ON class.relnamespace = place.oid AND class.relname = kept.tablename
WHERE (class.oid = CAST(CAST(:name AS text) AS regclass)
    OR class.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(CAST(CAST(:name AS text) AS regclass))))
"""
_CLEAR = f"""
SELECT pg_catalog.pg_clear_attribute_stats(
    CAST(kept.schemaname AS text), CAST(kept.tablename AS text), CAST(kept.attname AS text), kept.inherited)
{_KEPT}"""
_LEFT = f"""
SELECT count(*) {_KEPT} AND coalesce(CAST(kept.most_common_vals AS text), CAST(kept.histogram_bounds AS text),
    CAST(kept.most_common_elems AS text)) IS NOT NULL
"""
_ANALYZE = "ANALYZE TABLE {} PERSISTENT FOR ALL"
_IN_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'sqlite_stat[134]'"
_log = logging.getLogger(__name__)


def forget_statistics(connection: Connection, name: str, schema: str | None) -> None:
    """Take away what the statistics of a table without records tell of those that it had.

    Where that is refused, as to a role that does not own the table, a warning says so: the records are gone all the
    same. Of MariaDB `collect_anew` does it, after the transaction.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    if connection.dialect.name == "sqlite":
        for kept in connection.scalars(sa.text(_IN_SQLITE)).all():
            of_table = sa.column("tbl").collate("NOCASE") == name
            connection.execute(sa.delete(sa.table(kept, sa.column("tbl"))).where(of_table))
    if connection.dialect.name != "postgresql":
        return
    quoted = quoted_name(connection.dialect, schema, name)
    try:
        with connection.begin_nested():
            if (connection.dialect.server_version_info or (0,)) >= _CLEARS:
                connection.execute(sa.text(_CLEAR), {"name": quoted})
            else:
                # statistics of records without a value take the place of the old ones
                run_plain(connection, f"INSERT INTO {quoted} DEFAULT VALUES")
                run_plain(connection, f"ANALYZE {quoted}")
                run_plain(connection, f"DELETE FROM {quoted}")
    except sa.exc.DBAPIError as problem:
        # its text may quote a record
        _log.warning("Table %s: its statistics were not taken away: %s", name, type(problem.orig).__name__)
    if connection.scalar(sa.text(_LEFT), {"name": quoted}):
        _log.warning(
            "Table %s: is empty, and pg_stats still tells values of its columns to whoever may read it; drop the table "
            "as its owner, or put one record without values in, run ANALYZE, and delete it",
            name,
        )


def collect_anew(engine: Engine, name: str, schema: str | None) -> None:
    """Let MariaDB collect the statistics of a table without records, in place of those of the records that it had.

    Where that is refused, a warning says so.
    """
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    if not is_mariadb(engine.dialect):
        return
    statement = _ANALYZE.format(quoted_name(engine.dialect, schema, name))
    try:
        with engine.connect() as connection:
            # it tells of a failure in a row of its result
            told = connection.exec_driver_sql(statement, execution_options=PLAIN).all()
        why = "ANALYZE failed" if any(str(row[2]).lower() == "error" for row in told) else None
    except sa.exc.DBAPIError as problem:
        # its text may quote a record
        why = type(problem.orig).__name__
    if why is not None:
        _log.warning(
            "Table %s: is empty, and mysql.column_stats may still have values of its columns (%s); let somebody run "
            "ANALYZE TABLE %s PERSISTENT FOR ALL, or drop the table",
            name,
            why,
            name,
        )
