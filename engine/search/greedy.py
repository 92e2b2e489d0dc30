"""A first solution: from the top of the lattice down, always to the best valid specialization.

Greedy top-down specialization by exact loss, after Fung, Wang, Yu, Top-down specialization for information and privacy
preservation. ICDE 2005. It guarantees nothing and serves other searches as their first incumbent.
"""

from __future__ import annotations

from engine.lattice.space import Lattice, replaced
from engine.search.algorithm import preference
from engine.search.check import Check, Checker


def greedy(checker: Checker, lattice: Lattice) -> Check | None:
    """Descend as long as the loss falls; None where the top is no solution."""
    here = checker.check(lattice.high)
    if here.loss is None:
        return None
    while True:
        better = here
        for a, level in enumerate(here.levels):
            if level > lattice.low[a]:
                below = checker.check(replaced(here.levels, a, level - 1))
                if is_better(below, better):
                    better = below
        if better is here:
            return here
        here = better


def is_better(new: Check, old: Check | None) -> bool:
    """Whether a check is a solution that is preferred to another."""
    if new.loss is None:
        return False
    return old is None or old.loss is None or preference(new.loss, new.levels) < preference(old.loss, old.levels)
