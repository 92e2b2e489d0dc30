"""One module a revision of the ledger's schema."""
