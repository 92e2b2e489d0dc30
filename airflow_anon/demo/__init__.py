"""A simulated clinical warehouse for trying everything without real records."""
