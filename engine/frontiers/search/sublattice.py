"""The heuristic of the sublattice search: whether a sublattice is worth a walk.

Xia et al., CODASPY 2013; JAMIA 22:1029, 2015, "SHS Improvement". Risk and utility loss are monotone, so all policies
between a general policy and a specific one lie in the rectangle of the two. If the frontier dominates the whole
rectangle, none of them can improve the frontier; if it dominates no part, all policies of a chain join it. Otherwise
the undominated share of the rectangle estimates the probability that a policy improves the frontier, and above a
threshold a random maximal chain is walked.

The papers leave open how large a sublattice is. Here its two ends are a fiftieth of all bits apart, from 2 to 64; one
in four is twice as large, and of these one in four twice as large again: most are so small that the rectangle is
informative and a chain takes little of the budget, and every policy can be reached.
"""

from __future__ import annotations

import numpy as np

from engine.frontiers.measures.along_paths import Point
from engine.frontiers.search.exploration import Exploration
from engine.frontiers.space.domain import Bits
from engine.frontiers.space.paths import random_chain

_SHARE, _FEWEST, _MOST, _STOP = 50, 2, 64, 0.75


def span(size: int, random: np.random.Generator) -> int:
    """Draw the largest number of bits by which the two ends of a sublattice differ."""
    least = max(_FEWEST, min(_MOST, size // _SHARE))
    return min(size, least << int(random.geometric(_STOP)) - 1)


def promising(exploration: Exploration, general: Point, specific: Point) -> bool:
    """Return whether a chain between two measured policies is worth a walk."""
    top, bottom = exploration.archive.normalized([general, specific])
    share = exploration.archive.undominated((top[0], bottom[1]), (bottom[0], top[1]))
    return share > exploration.threshold or share == 1.0


def walk_between(exploration: Exploration, general: Bits, specific: Bits) -> None:
    """Measure a random maximal chain between two measured policies."""
    chain = random_chain(exploration.space, specific & ~general, exploration.random)
    exploration.walk(specific, chain[:-1], known=True)
