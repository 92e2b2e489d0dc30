"""No statement is kept prepared on a server, so that poolers may give each transaction another session.

In: an engine. Out: the same one, whose new connections prepare nothing. psycopg prepares by itself what it has sent
five times; the session of the next transaction would not know that statement, or know another one by its name. Other
drivers prepare nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine


def prepare_nothing(engine: Engine) -> Engine:
    """Return the engine, whose connections from now on keep no prepared statement."""
    from sqlalchemy import event  # noqa: PLC0415 (heavy imports belong into execute)

    if engine.dialect.driver == "psycopg":

        @event.listens_for(engine, "connect")
        def _connect(connection: Any, _record: Any) -> None:
            connection.prepare_threshold = None

    return engine
