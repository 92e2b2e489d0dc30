"""What the document of a policy means, value by value, and what its groups risk and lose."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction


def group_of(value, groups, rows, key):
    """Return the place of the one group that holds a value; None for a missing one in no group of its own.

    `rows` are those of the hierarchy; `key` orders the values, None for a tree.
    """
    found = [place for place, group in enumerate(groups) if holds(group, value, rows, key)]
    assert len(found) == 1, f"{value!r} is in {len(found)} groups"
    return found[0]


def holds(group, value, rows, key):
    if "value" in group:
        return group["value"] == value
    if "node" in group:
        below = {row[0] for row in rows if group["node"] in row[1:]}
        return (value is None and group["node"] == rows[0][-1]) or (
            value in below and value in group.get("values", below)
        )
    if value is None or group["to"] is None:
        return value is group["from"]
    return (group["from"] is None or key(group["from"]) <= key(value)) and key(value) <= key(group["to"])


def regrouped(records, policy, rows, keys):
    """Return for each record the places of the groups of its values."""
    return [
        tuple(group_of(value, policy[name], rows[name], keys[name]) for name, value in zip(policy, record, strict=True))
        for record in records
    ]


def marketer(cells, people):
    """Return the mean over records of one by the people of their cell, who are at least its records."""
    counts = Counter(cells)
    total = sum(Fraction(count, max(people[cell], count)) for cell, count in counts.items())
    return total / len(cells)


def divergence(records, cells, sizes):
    """Return sum P ln(P / Q), each cell's mass spread evenly over its leaf cells.

    `sizes` says of each record's cell how many leaf cells it has.
    """
    tuples, groups = Counter(records), Counter(cells)
    spread = {record: Fraction(groups[cell], size) for record, cell, size in zip(records, cells, sizes, strict=True)}
    n = len(records)
    return math.fsum(count / n * math.log(Fraction(count) / spread[record]) for record, count in tuples.items())
