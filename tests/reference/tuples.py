"""Slow, obvious twins of the kernels and of the frequency table, over plain lists."""

from __future__ import annotations

from collections import Counter, defaultdict


def numbered(rows):
    """Enumerate distinct rows by first appearance; return the number of each row and where each appears first."""
    numbers, first = {}, []
    group = []
    for position, row in enumerate(map(tuple, rows)):
        if row not in numbers:
            numbers[row] = len(numbers)
            first.append(position)
        group.append(numbers[row])
    return group, first


def frequencies(records):
    """Count (tuple, sensitive) records: tuple to number of records, and tuple to a Counter of sensitive values."""
    counts = Counter(values for values, _ in records)
    histograms = defaultdict(Counter)
    for values, sensitive in records:
        histograms[values][sensitive] += 1
    return counts, dict(histograms)


def classes(records, generalize):
    """Group (tuple, sensitive) records by a function of the tuple; return class to list of sensitive values."""
    found = defaultdict(list)
    for values, sensitive in records:
        found[generalize(values)].append(sensitive)
    return dict(found)
