"""Steps 2 to 6 of docs/flow.md: one run, its report and its release folder."""
