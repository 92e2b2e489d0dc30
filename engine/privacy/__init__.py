"""Privacy models: one file a model, listed in `registry`."""
