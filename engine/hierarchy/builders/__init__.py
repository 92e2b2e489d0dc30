"""Hierarchy builders, one per file."""
