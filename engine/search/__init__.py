"""Search algorithms: one file per algorithm, listed in `registry`."""
