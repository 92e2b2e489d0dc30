"""What a message may say about a database error: its kind and, if it cannot contain a record's value, its text.

Drivers put values into some messages (a failed cast, a violated key) and connection strings into others. Both would be
written to the task's log, so only the classes of errors listed here are quoted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport.failure_kinds import connection_failure, is_wrong_query, what_to_compare
from airflow_anon.transport.sqlite_remedies import FULL, LOCKED, NOT_OPENED, READONLY, sqlite_remedy

# Connection, transaction state, authorization, dependent objects, catalog, schema, rollback, syntax or access rule,
# resources, limits of the program, object state, operator intervention.
QUOTABLE_SQLSTATES = ("08", "25", "28", "2B", "3D", "3F", "40", "42", "53", "54", "55", "57")
INTEGRITY = "23"
# Messages of SQLite, and of connections that fail or end, and those of MariaDB about its own state, which it writes
# into no log; without an SQLSTATE. They name objects, never values.
QUOTABLE_STARTS = (
    "no such table",
    "no such column",
    LOCKED,
    NOT_OPENED,
    READONLY,
    FULL,
    "disk I/O error",
    "failed to open",
    "lost connection to",
    "server closed the connection",
    "SSL connection has been closed",
    "connection already closed",
    "MySQL server has gone away",
    "Connection was killed",
    "Server shutdown in progress",
    "Too many connections",
    "Lock wait timeout exceeded",
    "Deadlock found when trying to get lock",
    "Got a packet bigger than",
    "The MariaDB server is running with the --read-only option",
    "your password has expired",
    "you must set password",
)
# MariaDB's syntax error quotes the query from there on, with its literals, and has the state of a missing right.
UNQUOTABLE_NUMBERS = (1064,)
# At the beginning, or after what a driver puts before it; within other words it would be part of a value.
_QUOTABLE = re.compile(rf"(?:^|[:\]] )(?P<told>{'|'.join(QUOTABLE_STARTS)})", re.IGNORECASE)


@contextmanager
def database_errors(doing: str, secret: str | None = None, *, reads: bool = False) -> Iterator[None]:
    """Turn any driver's error into an `AirflowException` that starts with `doing`, without values and passwords.

    Parameters
    ----------
    doing : str
        What was attempted, naming the table and connection: "extracting clinic.person over connection 'warehouse'".
    secret : str, optional
        The connection's password, blanked in the message.
    reads : bool
        Whether the block only reads: what it lacks is then not what another process is about to make.

    Raises
    ------
    AirflowException
        Replaces any exception of the block, except Airflow's own exceptions. Where it only reads, and a table, a column
        or a function is missing, it is an `AirflowFailException`: a retry would not find it either.
    """
    try:
        yield
    except AirflowException:
        raise
    except Exception as problem:  # noqa: BLE001 (each driver has its own hierarchy, and none may reach the log as it is)
        text = explain(problem)
        if secret:
            text = text.replace(secret, "***")
        origin = _origin(problem)
        ends = reads and is_wrong_query(_numbered(origin)[1], _sqlstate(origin))
        fix = what_to_compare(_numbered(origin)[1], _sqlstate(origin)) if reads else ""
        raise (AirflowFailException if ends else AirflowException)(f"{doing}: {text}{fix}") from None


def explain(problem: BaseException) -> str:
    """Return the kind of a failed connection, the error's class, SQLSTATE, and the first line of a quotable message."""
    origin = _origin(problem)
    if isinstance(origin, OSError) and origin.errno is not None:
        # not its own text: pyarrow raises it too
        files = [str(one) for one in (origin.filename, origin.filename2) if one is not None]
        # of a copy the second one is the target, whose disk is the full one
        named = f": {' -> '.join(files)}" if files else ""
        return f"{type(origin).__name__}: {os.strerror(origin.errno)}{named}"
    state = _sqlstate(origin)
    kind = type(origin).__name__ + (f" (SQLSTATE {state})" if state else "") + _violated(origin, state)
    number, text = _numbered(origin)
    message = None if number in UNQUOTABLE_NUMBERS else _quotable(text, state)
    why = connection_failure(text, state)
    if why is not None:
        return f"{why} ({kind}: {message})" if message else f"{why} ({kind})"
    if message is not None and state is None:
        message += sqlite_remedy(message)
    return f"{kind}: {message}" if message else f"{kind}; its text may hold values and stays in the database's own log"


def _violated(origin: BaseException, state: str | None) -> str:
    """Return which constraint, column and table a driver of PostgreSQL names beside an error of integrity."""
    told = getattr(origin, "diag", None)
    if told is None or state is None or not state.startswith(INTEGRITY):
        return ""
    found = ((what, getattr(told, f"{what}_name", None)) for what in ("constraint", "column", "table"))
    named = [f"{what} {name!r}" for what, name in found if name]
    return f" of {', '.join(named)}" if named else ""


def _origin(problem: BaseException) -> BaseException:
    return getattr(problem, "orig", None) or problem


def _numbered(origin: BaseException) -> tuple[int | None, str]:
    """Return the number of an error, which drivers of MariaDB give beside its text, and the text."""
    match origin.args:
        case (int(number), str(text), *_):
            return number, text
    return None, str(origin)


def _sqlstate(origin: BaseException) -> str | None:
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    return state if isinstance(state, str) and state else None


def _quotable(message: str, state: str | None) -> str | None:
    lines = message.strip().splitlines()
    if not lines:
        return None
    if state is not None:
        return lines[0] if state.startswith(QUOTABLE_SQLSTATES) else None
    found = _QUOTABLE.search(lines[0])
    return None if found is None else lines[0][found.start("told") :]
