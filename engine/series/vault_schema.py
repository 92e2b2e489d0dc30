"""The tables of a vault, and how those of earlier versions become these.

In: the version that a database has, 0 for an empty one. Out: statements. `{blob}` is the type of bytes in the database.
Whatever changes the tables is a further entry: entries are never edited.
"""

from __future__ import annotations

from collections.abc import Sequence

_SERIES = """
CREATE TABLE series (
    name TEXT PRIMARY KEY, key_check TEXT NOT NULL, job_check TEXT NOT NULL, ids {blob} NOT NULL
)"""
_RELEASES = """
CREATE TABLE series_release (
    series TEXT NOT NULL, number INTEGER NOT NULL, release_id TEXT NOT NULL, state TEXT NOT NULL,
    facts TEXT NOT NULL, content {blob} NOT NULL, added {blob} NOT NULL,
    PRIMARY KEY (series, number), UNIQUE (series, release_id)
)"""
MIGRATIONS: Sequence[Sequence[str]] = (
    (
        "CREATE TABLE series_vault (version INTEGER NOT NULL)",
        "INSERT INTO series_vault (version) VALUES (0)",
        _SERIES,
        _RELEASES,
    ),
    ("ALTER TABLE series_release ADD COLUMN kept {blob}",),
    (),  # releases are packed in another form, which earlier versions cannot read; theirs are read as they are
)
"""Statements by version: those of place v lead from version v to v + 1."""

VERSION = len(MIGRATIONS)
