"""The transaction in which PostgreSQL is read, whatever the settings of the role are.

In: a connection. Out: the same one, whose driver reads moments and numbers as they are until the transaction ends. All
else of the role stays, such as its time zone and the order of day and month: these decide what a view or a query of the
source means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

READING = (
    # a style of dates that drivers read
    "SET LOCAL datestyle = 'ISO'",
    # numbers with all their digits
    "SET LOCAL extra_float_digits = 1",
)
_AT_ONCE = {"no_parameters": True, "stream_results": False}
"""Execution options of a setting, whatever those of its connection are."""


def names_as_they_are(engine: Engine) -> Engine:
    """Let each transaction of an engine of PostgreSQL write no type in quotes; return the engine.

    SQLAlchemy knows no type whose name is in quotes.
    """
    from sqlalchemy import event  # noqa: PLC0415 (heavy imports belong into execute)

    if engine.dialect.name == "postgresql":

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            connection.exec_driver_sql("SET LOCAL quote_all_identifiers = off", execution_options=_AT_ONCE)

    return engine


def read_as_it_is(connection: Connection) -> None:
    """Set what a driver needs for the transaction; harmless for other databases."""
    if connection.dialect.name == "postgresql":
        for setting in READING:
            connection.exec_driver_sql(setting, execution_options=_AT_ONCE)
