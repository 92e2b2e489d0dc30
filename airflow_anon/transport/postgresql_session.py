"""The transaction in which PostgreSQL is read, whatever the settings of the role are.

In: a connection. Out: the same one, whose driver reads moments and numbers as they are until the transaction ends. All
else of the role stays, such as its time zone and the order of day and month: these decide what a view or a query of the
source means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

READING = (
    # a style of dates that drivers read
    "SET LOCAL datestyle = 'ISO'",
    # numbers with all their digits
    "SET LOCAL extra_float_digits = 1",
)


def read_as_it_is(connection: Connection) -> None:
    """Set what a driver needs for the transaction; harmless for other databases."""
    if connection.dialect.name == "postgresql":
        for setting in READING:
            connection.exec_driver_sql(setting, execution_options={"no_parameters": True, "stream_results": False})
