"""Checks of a release besides its privacy models: labels, balance, figures of the report."""
