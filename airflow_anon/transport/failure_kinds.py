"""Kinds of failures of a database, in words of our own: a driver's text is matched, and none of it is repeated."""

from __future__ import annotations

import re

_CONNECTING = re.compile(
    r"connection (to server|failed|is bad)|fail(ed|ure) to (connect|resolve)|(could not|can't) (connect|translate)",
    re.IGNORECASE,
)
"""How drivers begin when there is no connection yet, so that no text is of a record."""

_BY_TEXT = (
    (r"refused|failed: no such file or directory", "refused"),
    (r"translate host name|resolve host|name or service|name resolution|nodename nor|getaddrinfo|no such host", "name"),
    (
        (
            r"password|authentication|pg_hba|access denied|role \"[^\"]*\" (does not exist|is not permitted to log in)"
            r"|permission denied for database"
        ),
        "authentication",
    ),
    (r"database \"[^\"]*\" does not exist|unknown database", "database"),
    (r"starting up|shutting down|in recovery mode|accepting connections|closed the connection", "not ready"),
    (r"too many (clients|connections)|remaining connection slots", "full"),
    (r"\bssl\b|\btls\b|certificate", "TLS"),
    (r"timeout expired|timed out|timeout", "timeout"),
    (r"no route to host|network is unreachable", "route"),
)
_BY_STATE = (("28", "authentication"), ("3D000", "database"), ("53300", "full"))
_NO_TABLE = ("42P01", "42S02", "3F000")
"""SQLSTATEs of a missing table or schema."""
_WRONG_STATES = (*_NO_TABLE, "42703", "42S22", "42883", "42601")
"""SQLSTATEs of a missing table, schema, column or function, and of a statement that the database cannot read."""
_WORDS = {
    "refused": "the connection was refused: nothing listens at the host and port of the connection; correct them, or "
    "start the database",
    "name": "the name of the host was not found; correct the host of the connection, or the name service",
    "TLS": "no encrypted connection (TLS) could be made; compare sslmode and the certificates of the connection with "
    "the server's",
    "authentication": "the database did not accept the user or the password; correct them in the connection, or let "
    "the server admit this user from here",
    "database": "there is no such database on the server; correct the schema of the connection",
    "not ready": "the server takes no connections now: it starts, stops, or lets nobody in; try again later",
    "full": "the database has no more connections free; try again later",
    "timeout": "the server did not answer in time; look at the network between",
    "route": "the network does not lead to the host; look at the network between",
    "other": "no connection could be made; the database's own log says why",
}


def connection_failure(text: str, state: str | None) -> str | None:
    """Say why there is no connection, and what to do; None for another failure.

    Parameters
    ----------
    text : str
        The message of the driver.
    state : str or None
        Its SQLSTATE.
    """
    for start, kind in _BY_STATE:
        if state is not None and state.startswith(start):
            return _WORDS[kind]
    if state is not None and not state.startswith("08"):
        return None
    if _CONNECTING.search(text.splitlines()[0] if text else "") is None:
        return None
    return _WORDS[next((kind for pattern, kind in _BY_TEXT if re.search(pattern, text, re.IGNORECASE)), "other")]


def what_to_compare(text: str, state: str | None) -> str:
    """Say what to compare where a table or a schema is missing; nothing for another failure."""
    if state not in _NO_TABLE if state is not None else re.search(r"(^|: )no such table: ", text) is None:
        return ""
    return (
        "; correct the name, or let the user of the connection see it: capitals count, and a table outside of the "
        "search path needs its schema, as in clinic.stays"
    )


def is_wrong_query(text: str, state: str | None) -> bool:
    """Tell whether what a query names is missing, or the query cannot be read: no retry mends that."""
    if state is not None:
        return state in _WRONG_STATES
    return re.search(r"(^|: )no such (table|column|function): ", text) is not None
