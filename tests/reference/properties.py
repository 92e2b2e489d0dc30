"""The slow, obvious twin of the stores of predictive properties: a set of everything that was inserted."""

from __future__ import annotations


def specializes(low, high):
    """Whether one level vector is at most another at every attribute."""
    return all(x <= y for x, y in zip(low, high, strict=True))


class Inserted:
    """A property that is inherited `upwards` (by generalizations) or `downwards` (by specializations)."""

    def __init__(self, inherited):
        self._upwards = inherited == "upwards"
        self.nodes = set()

    def insert(self, levels):
        """Say that a transformation has the property."""
        self.nodes.add(levels)

    def implies(self, known, levels):
        """Whether a transformation has the property because another one has it, or because they are the same."""
        return specializes(known, levels) if self._upwards else specializes(levels, known)

    def __contains__(self, levels):
        return any(self.implies(known, levels) for known in self.nodes)

    def antichain(self):
        """Return those that no other one implies."""
        return {
            levels
            for levels in self.nodes
            if not any(self.implies(known, levels) for known in self.nodes if known != levels)
        }


def least_rests(vectors):
    """Map each prefix of a vector, but the empty one, to the least sum of what may follow it."""
    rests = {}
    for vector in vectors:
        for length in range(1, len(vector) + 1):
            rest = sum(vector[length:])
            rests[vector[:length]] = min(rest, rests.get(vector[:length], rest))
    return rests
