"""Generalization hierarchies: files and builders, one file each, listed in `registry`."""
