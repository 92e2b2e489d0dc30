"""Whether identifying columns repeat, as the database tells; no value of them leaves it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.database_read import Reading, canceller

_log = logging.getLogger(__name__)


def repeating(reading: Reading, columns: Sequence[str]) -> dict[str, bool | None]:
    """Ask of each column that the relation has whether several records have the same value.

    Missing values and empty texts repeat nothing. None where the database cannot compare the values of the column.
    """
    present = set(reading.present)
    return {name: _repeats(reading, name) for name in columns if name in present}


def _repeats(reading: Reading, name: str) -> bool | None:
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 (heavy imports belong into execute)

    # a connection of its own: PostgreSQL ends a transaction in which a statement failed
    with reading.engine.connect().execution_options(**PLAIN) as connection:
        reading.cancel = canceller(connection)
        try:
            found = connection.exec_driver_sql(_statement(reading, name)).first()
        except DBAPIError as problem:
            if problem.connection_invalidated:
                raise
            # the text of the error may hold a value
            _log.warning("Whether column %r repeats is not known: the database cannot compare its values", name)
            return None
    return found is not None


def _statement(reading: Reading, name: str) -> str:
    """Return SQL for one row if a value repeats, for none otherwise.

    `MAX` and not `LIMIT 1`: not every database has that. The text of a value is compared with the empty one, which a
    number does not have.
    """
    preparer = names_of(reading.engine.dialect)
    column, clause = preparer.quote(name), reading.relation.from_clause(preparer)
    counted = (
        f"SELECT COUNT(*) AS records FROM {clause} WHERE {column} IS NOT NULL AND CAST({column} AS VARCHAR(4000)) <> '' "
        f"GROUP BY {column} HAVING COUNT(*) > 1"
    )
    return f"SELECT 1 FROM ({counted}) repeated HAVING MAX(records) > 1"
