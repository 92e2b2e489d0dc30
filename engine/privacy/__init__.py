"""Privacy models: one file per model, listed in `registry`."""
