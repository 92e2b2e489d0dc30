"""Step 2 and 3 of docs/flow.md: values become codes, and records a frequency table with its classes."""
