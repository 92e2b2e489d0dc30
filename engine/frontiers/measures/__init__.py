"""Risk and utility of policies, one per file, and the plane that they span."""
