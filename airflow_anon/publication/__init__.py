"""Step 7 of docs/flow.md: writes a release to both the share and the ledger, or to neither."""
