"""Whose the records of a frequency table are, and what all records of a person show together."""
