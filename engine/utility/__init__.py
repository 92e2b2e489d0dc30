"""Utility measures: one file a measure, listed in `registry`. A measure is a loss: lower is better."""
