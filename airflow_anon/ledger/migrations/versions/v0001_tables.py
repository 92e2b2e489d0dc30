"""The tables of the ledger, and the head of an empty chain."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables and the head row, so that the first writers have a row to lock."""
    op.create_table(
        "release_ledger",
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
    op.create_table(
        "release_document",
        sa.Column(
            "sequence",
            sa.Integer,
            sa.ForeignKey("release_ledger.sequence", name="release_document_sequence"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("document", sa.Text, nullable=False),
    )
    head = op.create_table(
        "ledger_head",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("entry_sha256", sa.Text, nullable=False),
    )
    op.create_table(
        "pending_release",
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("release_id", sa.Text, primary_key=True),
        sa.Column("dag_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("manifest_sha256", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("since", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    _create_indices()
    op.execute(sa.insert(head).values(sequence=0, entry_sha256="0" * 64))


def _create_indices() -> None:
    _create_unique("release_ledger_release", ["job", "release_id"], "outcome = 'released'")
    _create_unique("release_ledger_attempt", ["dag_id", "run_id", "task_group", "attempt"], "outcome != 'released'")
    op.create_index("release_ledger_run", "release_ledger", ["dag_id", "run_id", "sequence"])
    op.create_index("release_ledger_latest", "release_ledger", ["job", "dag_id", "sequence"])
    op.create_index("release_ledger_job", "release_ledger", ["job", "sequence"])
    op.create_index("release_ledger_outcome", "release_ledger", ["job", "outcome", "sequence"])


def _create_unique(name: str, columns: list[str], where: str) -> None:
    op.create_index(
        name,
        "release_ledger",
        columns,
        unique=True,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(where),
    )
