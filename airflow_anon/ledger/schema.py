"""The tables of the ledger after the newest migration, and the revisions up to it."""

from __future__ import annotations

import sqlalchemy as sa

VERSION_TABLE = "deidentification_ledger_version"
# Oldest first; this package reads and writes the last one.
REVISIONS = ("0001",)

metadata = sa.MetaData()

release_ledger = sa.Table(
    "release_ledger",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("recorded_at", sa.Text, nullable=False),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("dag_id", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("task_group", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("release_id", sa.Text),
    sa.Column("rows", sa.BigInteger),
    sa.Column("suppressed", sa.BigInteger),
    sa.Column("suppressed_share", sa.Double),
    sa.Column("information_loss", sa.Double),
    sa.Column("privacy_margin", sa.Double),
    sa.Column("optimal", sa.Boolean),
    sa.Column("seconds", sa.Double),
    sa.Column("job_sha256", sa.Text),
    sa.Column("manifest_sha256", sa.Text),
    sa.Column("document_sha256", sa.Text, nullable=False),
    sa.Column("previous_sha256", sa.Text, nullable=False),
    sa.Column("entry_sha256", sa.Text, nullable=False),
    sa.UniqueConstraint("entry_sha256", name="release_ledger_entry_sha256"),
)

release_document = sa.Table(
    "release_document",
    metadata,
    sa.Column(
        "sequence",
        sa.Integer,
        sa.ForeignKey("release_ledger.sequence", name="release_document_sequence"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("document", sa.Text, nullable=False),
)

ledger_head = sa.Table(
    "ledger_head",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("entry_sha256", sa.Text, nullable=False),
)

pending_release = sa.Table(
    "pending_release",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("release_id", sa.Text, primary_key=True),
    sa.Column("dag_id", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("manifest_sha256", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("since", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)

_entry = release_ledger.c
_is_released = _entry.outcome == sa.literal_column("'released'")
_is_not_released = _entry.outcome != sa.literal_column("'released'")

sa.Index(
    "release_ledger_release",
    _entry.job,
    _entry.release_id,
    unique=True,
    sqlite_where=_is_released,
    postgresql_where=_is_released,
)
sa.Index(
    "release_ledger_attempt",
    _entry.dag_id,
    _entry.run_id,
    _entry.task_group,
    _entry.attempt,
    unique=True,
    sqlite_where=_is_not_released,
    postgresql_where=_is_not_released,
)
sa.Index("release_ledger_run", _entry.dag_id, _entry.run_id, _entry.sequence)
sa.Index("release_ledger_latest", _entry.job, _entry.dag_id, _entry.sequence)
sa.Index("release_ledger_job", _entry.job, _entry.sequence)
sa.Index("release_ledger_outcome", _entry.job, _entry.outcome, _entry.sequence)
