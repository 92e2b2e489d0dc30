"""One run, its report and its release folder: steps 2 to 6 of docs/flow.md in a row."""
