"""Re-identification risk of a released table."""
