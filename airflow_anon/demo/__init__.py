"""A simulated clinical warehouse, to try everything without real records."""
