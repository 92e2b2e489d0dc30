"""The slow, obvious twins of risk, utility loss and frontier: dictionaries of cells, fractions up to a logarithm.

A policy is a tuple with, for each attribute, the group of each position of its domain.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction


def cells(policy, rows):
    """Return records and people of each tuple of groups; a row is (positions, records, people)."""
    records, people = Counter(), Counter()
    for positions, f, persons in rows:
        cell = tuple(groups[position] for groups, position in zip(policy, positions, strict=True))
        records[cell] += f
        people[cell] += persons
    return {cell: (f, max(f, people[cell])) for cell, f in records.items() if f}


def marketer(found):
    """Return the mean over records of 1 / people."""
    return sum(Fraction(f, people) for f, people in found.values()) / sum(f for f, _ in found.values())


def prosecutor(found):
    """Return the largest 1 / records."""
    return max(Fraction(1, f) for f, _ in found.values())


def journalist(found):
    """Return the largest 1 / people."""
    return max(Fraction(1, people) for _, people in found.values())


RISKS = {"marketer": marketer, "prosecutor": prosecutor, "journalist": journalist}


def kl_divergence(policy, rows):
    """Return the sum over tuples of P ln(P / Q), as the definition says it: each cell spread evenly over its leaves."""
    n = sum(f for _, f, _ in rows)
    found = cells(policy, rows)
    originals = Counter()
    for positions, f, _ in rows:
        originals[positions] += f
    total = 0.0
    for positions, f in originals.items():
        if f:
            cell = tuple(groups[position] for groups, position in zip(policy, positions, strict=True))
            leaves = math.prod(list(groups).count(group) for groups, group in zip(policy, cell, strict=True))
            ratio = Fraction(f, n) / (Fraction(found[cell][0], n) / leaves)
            total += f / n * math.log(ratio)
    return total


def loss(policy, rows):
    """Return the mean over records and attributes of (leaves of the group - 1) / (leaves of the domain - 1)."""
    total = Fraction(0)
    for positions, f, _ in rows:
        for groups, position in zip(policy, positions, strict=True):
            if len(groups) > 1:
                total += Fraction(f * (list(groups).count(groups[position]) - 1), len(groups) - 1)
    return total / (sum(f for _, f, _ in rows) * max(len(policy), 1))


UTILITIES = {"kl-divergence": kl_divergence, "loss": loss}


def undominated(points, tolerance=1e-10):
    """Return the points that no other strictly dominates; points nearer than the tolerance are equal."""

    def dominates(p, q):
        return (
            p[0] <= q[0] + tolerance
            and p[1] <= q[1] + tolerance
            and (p[0] < q[0] - tolerance or p[1] < q[1] - tolerance)
        )

    return [p for p in points if not any(dominates(q, p) for q in points)]
