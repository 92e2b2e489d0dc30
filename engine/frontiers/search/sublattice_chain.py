"""SubChain: sublattices in a chain, the specific end of one being the general end of the next.

Xia et al., R-U policy frontiers for health data de-identification. JAMIA 22:1029, 2015, "SHS Improvement": from the top
of the lattice down to its bottom, then from the top again, because the ends of a sublattice that improved the frontier
are likely to be useful for the next one. The paper does not say how the policies of a chain are chosen. The frontier of
the initialization dominates nearly all policies of a random chain from the top. So here two sublattices of a chain meet
at a policy of the frontier, more often at one beside a wide gap; the parts of the chain above and below these
sublattices are far from the frontier, and are not measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.frontiers.measures.along_paths import Point
from engine.frontiers.search.archive import Archive
from engine.frontiers.search.exploration import Exploration
from engine.frontiers.search.sublattice import promising, span, walk_between
from engine.frontiers.space.paths import random_chain


def sublattice_chain(exploration: Exploration) -> Iterator[None]:
    """Improve the frontier, one sublattice per step."""
    space, random, archive = exploration.space, exploration.random, exploration.archive
    if not len(archive):
        exploration.measure(space.top)
    while True:
        index = _beside_a_gap(archive, random)
        middle, point = archive.bits(np.array([index]))[0], Point(*archive.figures[index].tolist())
        if middle.any() and exploration.remaining:
            general = middle.copy()
            general[random_chain(space, middle, random)[: span(space.size, random)]] = False
            if promising(exploration, exploration.measure(general), point):
                walk_between(exploration, general, middle)
        yield
        if not middle.all() and exploration.remaining:
            specific = middle.copy()
            specific[random_chain(space, ~middle, random)[-span(space.size, random) :]] = True
            if promising(exploration, point, exploration.measure(specific)):
                walk_between(exploration, middle, specific)
        yield


def _beside_a_gap(archive: Archive, random: np.random.Generator) -> int:
    """Draw a policy of the frontier: a gap with the probability of its rectangle's area, and one of its two ends."""
    sides = np.abs(np.diff(archive.points, axis=0)).prod(axis=1)
    if not sides.size:
        return 0
    return int(random.choice(sides.size, p=sides / sides.sum()) + random.integers(2))
