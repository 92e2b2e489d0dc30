"""Numbers that a job can name."""

from __future__ import annotations

MOST_RECORDS = 10**15
"""The largest number of records or people that a job can name: all above are refused, before they overflow a count."""
