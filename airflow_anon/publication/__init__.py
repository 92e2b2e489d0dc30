"""Step 7 of docs/flow.md: a release is written to both the share and the ledger, or to neither."""
