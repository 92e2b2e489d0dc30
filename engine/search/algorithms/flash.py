"""Flash: greedy depth-first paths through the lattice, searched binarily; it assumes that everything is monotone.

Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash: efficient, stable and optimal k-anonymity. PASSAT 2012, section III.
From an unknown transformation a path leads upwards, at each step to the first unknown generalization in the order of
the strategy. Binary search finds the border on the path between failing transformations and solutions; every answer is
passed on to all specializations or to all generalizations. The failing transformations are put into a heap: the next
paths begin at their unknown generalizations.

If generalization can make a solution fail, or lose less, the answers passed on may be wrong, and the best solution may
be missed. With suppression this is common (Kohlmayer, Prasser, Kuhn, The cost of quality. J Biomed Inform 58, 2015,
sections 2.4 to 2.6): `flash_two_phase` is exact in this case. The result has been checked and is a solution.
"""

from __future__ import annotations

from engine.lattice.properties import property_store
from engine.lattice.space import Levels
from engine.search.nodes.flash_paths import Paths
from engine.search.nodes.monotone import is_monotone
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution


def flash(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`; None also if no transformation that it checked is a solution."""
    search = NodeSearch(problem, progress, RollUpChecker(problem))
    solutions = property_store(problem.lattice, "upwards")
    failures = property_store(problem.lattice, "downwards")

    def is_known(levels: Levels) -> bool:
        return levels in solutions or levels in failures

    def is_solution(levels: Levels) -> bool:
        found = search.check(levels).loss is not None
        (solutions if found else failures).insert(levels)
        return found

    if Paths(problem, search, is_known, is_solution).follow_all() and is_monotone(problem):
        return search.solution(NOTHING_LEFT)
    return search.solution()


METHOD = Method(flash, is_monotone)
