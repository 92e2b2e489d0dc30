"""Utility measures: one file per measure, listed in `registry`. A measure is a loss: lower is better."""
