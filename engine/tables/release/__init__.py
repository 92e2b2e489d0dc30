"""Step 5 of docs/flow.md: records become those of a release, in its order."""
