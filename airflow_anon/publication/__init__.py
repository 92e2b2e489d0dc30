"""Step 7 of docs/flow.md: a release gets into the share and into the ledger, or into neither."""
