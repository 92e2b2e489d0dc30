"""What Alembic runs for each command: the migrations, in the transaction and on the connection of the caller."""

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
