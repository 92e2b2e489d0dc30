"""Search algorithms: one file an algorithm, listed in `registry`."""
