"""RandSub: random sublattices; each one is walked if it is likely to improve the frontier.

Xia et al., CODASPY 2013; JAMIA 22:1029, 2015, "SHS Improvement". The specific end keeps each value apart from the next
with the same probability, which is itself random, so that all depths of the lattice occur; a random chain leads from it
to the general end.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.frontiers.search.exploration import Exploration
from engine.frontiers.search.sublattice import promising, span, walk_between
from engine.frontiers.space.paths import random_chain


def random_sublattice(exploration: Exploration) -> Iterator[None]:
    """Improve the frontier, one sublattice per step."""
    space, random = exploration.space, exploration.random
    while True:
        specific = space.closed(random.random(space.size) < random.random())
        general = specific.copy()
        general[random_chain(space, specific, random)[: span(space.size, random)]] = False
        below = exploration.measure(specific)
        if exploration.remaining and general.sum() < specific.sum():
            above = exploration.measure(general)
            if promising(exploration, above, below):
                walk_between(exploration, general, specific)
        yield
