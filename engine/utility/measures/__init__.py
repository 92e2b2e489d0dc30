"""Utility measures, one per file; none imports another."""
