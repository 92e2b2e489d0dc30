"""Attribute inference, record by record."""

from __future__ import annotations

from collections import Counter


def share_right(records, smallest):
    """Return how often the most frequent value of a record's class is its own; records are (class, value) pairs.

    None where it would tell of fewer records than `smallest`, right or wrong, or without records.
    """
    right = 0
    for key in {key for key, _ in records}:
        values = [value for own, value in records if own == key]
        (_, most) = Counter(values).most_common(1)[0]
        right += most
    if not records or 0 < right < smallest or 0 < len(records) - right < smallest:
        return None
    return right / len(records)
