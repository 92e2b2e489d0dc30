"""The content hash of a table, read batch by batch.

In: a table over a connection, and a `ContentHash` of its columns. Out: the hash; the records are not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_anon.transport.postgresql_content import add_content
from airflow_anon.transport.postgresql_session import read_as_it_is

if TYPE_CHECKING:
    from sqlalchemy import ColumnClause, Connection

    from airflow_anon.transport.content_hash import ContentHash

BATCH_ROWS = 16_384


def hash_of_content(connection: Connection, name: str, schema: str | None, content: ContentHash) -> str | None:
    """Return the hash of a table's content; None if a cell cannot be read, which no release has."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    # Columns without a type: cells come as the driver gives them, whatever somebody put there.
    columns: list[ColumnClause[Any]] = [sa.column(column) for column in content.kinds]
    asked = sa.select(*columns).select_from(sa.table(name, schema=schema))
    # else a role with fewer digits of numbers, or another style of dates, would find another content
    read_as_it_is(connection)
    try:
        if add_content(connection, name, schema, content):
            return content.hexdigest()
        options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
        rows = connection.execute(asked, execution_options=options)
        for batch in rows.partitions(BATCH_ROWS):
            content.add(list(zip(*batch, strict=True)))
    except (ValueError, OverflowError, sa.exc.DataError):
        return None
    except sa.exc.OperationalError as problem:
        if not _is_no_text(problem):
            raise
        return None
    return content.hexdigest()


def _is_no_text(problem: Any) -> bool:
    """Whether SQLite's driver met bytes that are no UTF-8 in a text."""
    return "UTF-8" in str(getattr(problem, "orig", ""))
