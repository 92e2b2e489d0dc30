"""COPY over psycopg: to the client without a step of Python's iterators for each record, which takes half the time.

In: a connection of psycopg within a transaction, and a COPY … TO STDOUT. Out: its text in parts of whole records, since
libpq gives out one record at a time (PostgreSQL documentation, PQgetCopyData); with errors as those of SQLAlchemy.
"""

from __future__ import annotations

import selectors
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq import PGconn
    from psycopg.pq.abc import PGresult
    from sqlalchemy import Connection


def serves(connection: Connection) -> bool:
    """Return whether a connection is one of psycopg to PostgreSQL, so that `copied` reads over it."""
    dialect = connection.dialect
    return dialect.name == "postgresql" and dialect.driver == "psycopg"


def copied(connection: psycopg.Connection, asked: str, part_bytes: int) -> Iterator[bytearray]:
    """Yield the text, in parts of at least so many bytes but for the last one.

    Nothing else is asked over the connection before the end; who stops earlier cancels the statement.

    Raises
    ------
    psycopg.Error
        The server refuses or ends the statement, or the connection is lost.
    """
    from psycopg.pq import ExecStatus  # noqa: PLC0415 (heavy imports belong into execute)

    pgconn = connection.pgconn
    with selectors.DefaultSelector() as selector:
        selector.register(pgconn.socket, selectors.EVENT_READ)
        pgconn.send_query(asked.encode(connection.info.encoding))
        _expect(connection, _answer(pgconn, selector), ExecStatus.COPY_OUT)
        try:
            yield from _parts(pgconn, selector, part_bytes)
        except BaseException:
            _stop(pgconn)
            raise
        last = _answer(pgconn, selector)
        _rest(pgconn)
        _expect(connection, last, ExecStatus.COMMAND_OK)


def _parts(pgconn: PGconn, selector: selectors.BaseSelector, part_bytes: int) -> Iterator[bytearray]:
    held = bytearray()
    while True:
        # without waiting, since no signal is heard in libpq
        size, record = pgconn.get_copy_data(1)
        if size > 0:
            held += record
            if len(held) >= part_bytes:
                yield held
                held = bytearray()
        elif size == 0:
            selector.select()
            pgconn.consume_input()
        else:
            break
    if held:
        yield held


def _answer(pgconn: PGconn, selector: selectors.BaseSelector) -> PGresult | None:
    pgconn.flush()
    while pgconn.is_busy():
        selector.select()
        pgconn.consume_input()
    return pgconn.get_result()


def _expect(connection: psycopg.Connection, result: PGresult | None, status: int) -> None:
    """Raise the error of an answer that is another one."""
    from psycopg import OperationalError  # noqa: PLC0415 (heavy imports belong into execute)
    from psycopg.errors import error_from_result  # noqa: PLC0415

    if result is None:
        raise OperationalError("the server sent no answer to COPY")
    if result.status != status:
        _rest(connection.pgconn)
        raise error_from_result(result, encoding=connection.info.encoding)


def _stop(pgconn: PGconn) -> None:
    """End the statement, so that the transaction can be rolled back."""
    from psycopg import OperationalError  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        pgconn.get_cancel().cancel()
        # of a COPY whose text was given out whole there is none in progress
        with suppress(OperationalError):
            while pgconn.get_copy_data(0)[0] > 0:
                pass
        _rest(pgconn)
    except OperationalError:  # the connection is lost, and the statement ends with it
        return


def _rest(pgconn: PGconn) -> None:
    while pgconn.get_result() is not None:
        pass


@contextmanager
def driver_errors(connection: Connection, asked: str) -> Iterator[None]:
    """Let errors of the driver be those of SQLAlchemy."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    errors = connection.dialect.loaded_dbapi.Error
    try:
        yield
    except errors as problem:
        raise sa.exc.DBAPIError.instance(
            asked, None, problem, errors, hide_parameters=True, dialect=connection.dialect
        ) from problem


def driver_of(connection: Connection) -> Any:
    """Return the connection of the driver."""
    return connection.connection.driver_connection
