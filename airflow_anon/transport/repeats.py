"""Whether identifying columns repeat, as the database tells; no value of them leaves it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.database_read import Reading, canceller
from airflow_anon.transport.mariadb_session import by_bytes, is_mariadb

_log = logging.getLogger(__name__)
_CANNOT_COMPARE = "42883"
"""What PostgreSQL says where a type has no equality, such as that of JSON."""


def repeating(reading: Reading, columns: Sequence[str]) -> dict[str, bool | None]:
    """Ask of each column that the relation has whether several records have the same value.

    Missing values repeat nothing; an empty text is a value like any other.

    Returns
    -------
    dict
        The columns that repeat, with True, and those of which the database cannot tell it, with None.

    Raises
    ------
    DBAPIError
        Of SQLAlchemy: the statement was ended, or the role lacks a right.
    """
    present = set(reading.present)
    answers = {name: _repeats(reading, name) for name in columns if name in present}
    return {name: answer for name, answer in answers.items() if answer is not False}


def _repeats(reading: Reading, name: str) -> bool | None:
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 (heavy imports belong into execute)

    # a connection of its own: PostgreSQL ends a transaction in which a statement failed
    with reading.engine.connect().execution_options(**PLAIN) as connection:
        reading.cancel = canceller(connection)
        try:
            found = connection.exec_driver_sql(_statement(reading, name)).scalar()
        except DBAPIError as problem:
            state = getattr(problem.orig, "sqlstate", None) or getattr(problem.orig, "pgcode", None)
            is_postgresql = reading.engine.dialect.name == "postgresql"
            if problem.connection_invalidated or (is_postgresql and state != _CANNOT_COMPARE):
                raise
            # the text of the error may hold a value
            _log.warning("Whether column %r repeats is not known: the database cannot compare its values", name)
            return None
    return found is not None


def _statement(reading: Reading, name: str) -> str:
    """Return SQL for the most records that have the same value; null if none repeats."""
    preparer = names_of(reading.engine.dialect)
    column, clause = preparer.quote(name), reading.relation.from_clause(preparer)
    value = by_bytes(column) if is_mariadb(reading.engine.dialect) else column
    counted = (
        f"SELECT COUNT(*) AS records FROM {clause} WHERE {column} IS NOT NULL GROUP BY {value} HAVING COUNT(*) > 1"
    )
    return f"SELECT MAX(records) FROM ({counted}) repeated"
