"""RandPath: the frontier begins with random maximal chains from the bottom of the lattice to its top.

Xia, Heatherly, Ding, Li, Malin, Efficient discovery of de-identification policy options through a risk-utility
frontier. CODASPY 2013; Xia et al., JAMIA 22:1029, 2015, figure 2a. A chain with more policies than allowed skips some,
evenly.
"""

from __future__ import annotations

import numpy as np

from engine.frontiers.search.exploration import Exploration
from engine.frontiers.space.paths import random_chain


def random_path(exploration: Exploration, policies: int) -> None:
    """Measure `policies` policies, those of one chain after the other."""
    space = exploration.space
    until = exploration.visited + min(policies, exploration.remaining)
    while exploration.visited < until and exploration.remaining and exploration.unseen:
        chain = random_chain(space, space.bottom, exploration.random)
        steps = min(chain.size, until - exploration.visited - 1)
        ends = np.linspace(chain.size / max(steps, 1), chain.size, steps).astype(np.int64)
        exploration.walk(space.bottom, chain, ends)
