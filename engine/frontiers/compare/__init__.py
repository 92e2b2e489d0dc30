"""Compares a frontier with Safe Harbor, k-anonymity and rules, and picks the short list."""
