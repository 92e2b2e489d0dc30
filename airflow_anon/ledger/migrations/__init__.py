"""Alembic migrations of the ledger; `airflow_anon.ledger.migrate` runs them."""
