"""Steps 2, 3 and 5 of docs/flow.md: reads and encodes sources, counts the frequency table, transforms a source."""
