"""The lattice of level vectors between a lowest and a highest one (definitions: hierarchies and the lattice)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

Levels = tuple[int, ...]
"""One generalization level per quasi-identifier: a node of the lattice."""


@dataclass(frozen=True)
class Lattice:
    """All level vectors x with `low <= x <= high` in every attribute."""

    low: Levels
    high: Levels

    @property
    def size(self) -> int:
        """Number of transformations."""
        return math.prod(top - bottom + 1 for bottom, top in zip(self.low, self.high, strict=True))


def replaced(levels: Levels, attribute: int, level: int) -> Levels:
    """Return `levels` with one of them changed."""
    return (*levels[:attribute], level, *levels[attribute + 1 :])


def at_sum(lattice: Lattice, total: int) -> Iterator[Levels]:
    """Yield the transformations of a lattice whose levels have a sum, in lexicographic order."""
    if not lattice.low:
        yield from [()] if total == 0 else []
        return
    others = Lattice(lattice.low[1:], lattice.high[1:])
    least = max(lattice.low[0], total - sum(others.high))
    most = min(lattice.high[0], total - sum(others.low))
    for level in range(least, most + 1):
        for rest in at_sum(others, total - level):
            yield level, *rest
