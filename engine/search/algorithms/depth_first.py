"""Exhaustive depth-first search: every transformation of the lattice is checked, nothing is pruned.

Kohlmayer, Prasser, Kuhn, The cost of quality. J Biomed Inform 58:37-48, 2015, section 3.4, where it is the baseline of
pruning. It assumes nothing of models and measures, so it is exact for all of them. Attributes are fixed one after the
other, each from its highest level downwards, so transformations with the same first levels share the partition of these
levels, and solutions are found early.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.lattice.space import Levels
from engine.search.check import Checker
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch
from engine.search.problem import Method, Problem, Progress, Solution
from engine.tables.counting.frequency import Classes


def depth_first(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`."""
    search = NodeSearch(problem, progress, Checker(problem))
    waiting = problem.lattice.size
    for levels, classes in _partitions(problem, problem.table.undivided(), ()):
        if not search.goes_on(waiting):
            return search.solution(exhaustive=True)
        search.check(levels, classes)
        waiting -= 1
    return search.solution(NOTHING_LEFT, exhaustive=True)


METHOD = Method(depth_first)


def _partitions(problem: Problem, classes: Classes, levels: Levels) -> Iterator[tuple[Levels, Classes]]:
    """Yield all transformations that begin with some levels, whose partition is given."""
    a = len(levels)
    if a == len(problem.lattice.low):
        yield levels, classes
        return
    for level in range(problem.lattice.high[a], problem.lattice.low[a] - 1, -1):
        yield from _partitions(problem, classes.refined(a, level), (*levels, level))
