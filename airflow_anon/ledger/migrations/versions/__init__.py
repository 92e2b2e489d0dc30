"""Revisions of the ledger's schema, one module per revision."""
