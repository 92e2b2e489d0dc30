"""What may be told of a query that was run: its text without literals, and the hash of the whole.

A template may put any value into a query (a ward, a person), so literals are withheld; the hash proves which query it
was.
"""

from __future__ import annotations

import hashlib
import re
from typing import TypedDict

MARK = "..."
_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"
    r"|(?P<comment>--[^\n]*|/\*.*?\*/)"
    r"|(?P<name>\"(?:[^\"]|\"\")*\")"
    r"|(?P<number>(?<![\w$])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)",
    re.DOTALL,
)
_HIDDEN_QUOTE = re.compile(r"`[^`]*['\"][^`]*`")
"""A quote in a name of MariaDB; or between two names, which then is not told either."""
_UNCLEAR = ("'", '"', "\\", "#", "/*", "*/", "$$")
"""What is left of a query that was not read as its database reads it: escapes, comments of another dialect."""


class WhatWasRead(TypedDict):
    """The table or the query of an extraction, after its templates were rendered."""

    table: str | None
    query: str | None
    query_sha256: str | None


def what_was_read(table: str | None, query: str | None, dialect: str) -> WhatWasRead:
    """Return what may be told of an extraction; the text of a query is None if its literals cannot be found."""
    digest = None if query is None else hashlib.sha256(query.encode()).hexdigest()
    return {
        "table": table,
        "query": None if query is None else without_literals(query, quotes_names=dialect == "postgresql"),
        "query_sha256": digest,
    }


def without_literals(query: str, *, quotes_names: bool) -> str | None:
    """Replace texts and numbers of a query, and leave out comments.

    Parameters
    ----------
    quotes_names : bool
        Whether double quotes are around names alone; some databases take them for texts too.

    Returns
    -------
    str or None
        On one line; None if the query is not sure to be read as the database reads it.
    """
    if "\\" in query or _HIDDEN_QUOTE.search(query):  # in some dialects a quote is none there
        return None
    kept: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        kind = found.lastgroup if found.lastgroup != "tag" else "text"
        if kind == "name" and quotes_names:
            kept.append(found[0])
            return f"\0{len(kept) - 1}\0"
        return {"text": f"\0{MARK}\0", "name": f"\0{MARK}\0", "comment": " ", "number": MARK}[str(kind)]

    bare = _TOKEN.sub(replaced, query.replace("\0", " "))
    if any(unclear in bare for unclear in _UNCLEAR):
        return None
    told = re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], bare.replace(f"\0{MARK}\0", f"'{MARK}'"))
    return " ".join(told.split())
