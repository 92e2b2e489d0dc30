"""Generalization hierarchies: files and builders, one module per builder, listed in `registry`."""
