"""Privacy models, one per file; none imports another."""
