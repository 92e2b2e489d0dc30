"""The lattice of level vectors between a lowest and a highest one (definitions: hierarchies and the lattice)."""

from __future__ import annotations

import math
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
