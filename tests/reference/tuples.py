"""Slow, obvious twins of the kernels, of what is read of a source, and of the frequency table, over plain lists."""

from __future__ import annotations

from collections import Counter, defaultdict

UNSEEN = "a value without a row"
"""Stands for every value that a hierarchy has no row for: they are told apart nowhere."""


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


def read(value, rows, missing):
    """Return the leaf that a value is: None for a missing one, UNSEEN for one without a row of the hierarchy."""
    if value is None or value in missing:
        return None
    return value if any(row[0] == value for row in rows) else UNSEEN


def read_tuple(values, hierarchies, missing):
    """Return the leaves that the values of a record are."""
    return tuple(read(v, rows, texts) for v, rows, texts in zip(values, hierarchies, missing, strict=True))


def with_missing(rows, leaves):
    """Return a hierarchy with a row for the missing value if there is one: it joins the root if there is just one."""
    if None not in leaves:
        return list(rows)
    roots = {row[-1] for row in rows}
    top = rows[0][-1] if len(roots) == 1 and len(rows[0]) > 1 else None
    return [*rows, (*[None] * (len(rows[0]) - 1), top)]


def released(source, listed):
    """Tell which rows of a source are released: as many as are listed of each kind, the first ones first."""
    wanted = Counter(listed)
    told = []
    for row in source:
        told.append(wanted[row] > 0)
        wanted[row] -= told[-1]
    return told
