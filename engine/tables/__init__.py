"""Steps 2, 3 and 5 of docs/flow.md: sources, codes, the frequency table, and the transformation of a source."""
