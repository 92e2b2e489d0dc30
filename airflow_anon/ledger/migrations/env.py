"""Alembic runs this for each command: the migrations, on the caller's connection and in its transaction."""

from __future__ import annotations

from alembic import context

from airflow_anon.ledger.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
context.run_migrations()
