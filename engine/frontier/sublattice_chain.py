"""SubChain: sublattices in a chain, the specific end of one being the general end of the next.

Xia et al., R-U policy frontiers for health data de-identification. JAMIA 22:1029, 2015, "SHS Improvement": from the top
of the lattice down to its bottom, then from the top again.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.frontier.exploration import Exploration
from engine.frontier.paths import random_chain
from engine.frontier.sublattice import promising, span, walk_between


def sublattice_chain(exploration: Exploration) -> Iterator[None]:
    """Improve the frontier, one sublattice a turn."""
    space = exploration.space
    above = exploration.measure(space.top)
    while True:
        general, general_point = space.top, above
        yield
        while not general.all():
            added = random_chain(space, ~general, exploration.random)[-span(space.size) :]
            specific = general.copy()
            specific[added] = True
            specific_point = exploration.measure(specific)
            if promising(exploration, general_point, specific_point):
                walk_between(exploration, general, specific)
            general, general_point = specific, specific_point
            yield
