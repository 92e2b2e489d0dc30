"""Risk and utility measures of policies, one per file, and the plane they span."""
