"""The tables of a vault, and how those of earlier versions become these.

In: a transaction of a database with the tables of a version, 0 for an empty one. Out: those of this version. `{blob}`
is the type of bytes in the database. Whatever changes the tables is a further entry: entries are never edited.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import VaultRefused
from engine.series.vault_database import Statements, VaultDatabase

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


def migrate(database: VaultDatabase, run: Statements) -> None:
    """Make the tables that are missing, within a transaction.

    Raises
    ------
    VaultRefused
        A newer version of this package wrote them.
    """
    version = run("SELECT version FROM series_vault")[0][0] if database.has_table(run, "series_vault") else 0
    if version > VERSION:
        raise VaultRefused(
            f"series: the vault is of version {version}, and this package knows {VERSION}; install the version of "
            "airflow-anon that wrote it"
        )
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            run(statement.format(blob=database.blob))
    if version < VERSION:
        run("UPDATE series_vault SET version = :version", version=VERSION)
