"""Partitions, policies and k-anonymity from first principles: every policy, every level, value by value.

A partition of the positions of a domain is a sequence of class names, one a position.
"""

from __future__ import annotations

import itertools
from collections import Counter


def joins_all(coarse, fine):
    """Tell whether every class of `fine` is within one class of `coarse`."""
    return all(coarse[i] == coarse[j] for i, j in itertools.combinations(range(len(fine)), 2) if fine[i] == fine[j])


def all_bits(count):
    """Return every string of so many bits."""
    return itertools.product([False, True], repeat=count)


def safe_harbor_class(kind, value, areas, oldest):
    """Return what Safe Harbor makes of a value; whoever was born in the year `oldest` or before may be 90."""
    if value is None or kind == "kept":
        return value
    if kind == "zip":
        return value[:3] if value[:3] in areas else "000"
    if kind == "age":
        return "90+" if int(value) > 89 else value
    year = value.split("-")[0]
    return "of old people" if int(year) <= oldest else year


def halved(first, last, level):
    """Return the intervals of [first, last) after so many rounds of splitting each into two."""
    if level == 0 or last - first == 1:
        return [(first, last)]
    middle = (first + last + 1) // 2
    return halved(first, middle, level - 1) + halved(middle, last, level - 1)


def records_below(records, partitions, k):
    """Count the tuples of positions that are in classes of fewer than k."""
    classes = Counter(
        tuple(partition[position] for partition, position in zip(partitions, record, strict=True)) for record in records
    )
    return sum(size for size in classes.values() if size < k)


def pareto(points):
    """Return the distinct pairs that no other pair is as good as in both and better than in one, ascending."""
    return sorted(
        {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)},
    )
