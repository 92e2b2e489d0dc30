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

import heapq
from collections.abc import Callable, Iterator

from engine.lattice.properties import property_store
from engine.lattice.space import Lattice, Levels
from engine.search.check import Checker
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch, distinct_labels, successors
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution
from engine.utility.costs.label_costs import LabelCosts

Place = tuple[int, float, float, Levels]
"""Rank of a transformation in the order of a strategy."""


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


def is_monotone(problem: Problem) -> bool:
    """Whether all generalizations of a solution are solutions too, and none of them loses less than it does."""
    return Checker(problem).inherited and _loses_by_generalization(problem)


def _loses_by_generalization(problem: Problem) -> bool:
    """Whether no solution has a generalization that loses less.

    Without suppression this depends on the measure; with suppression it holds only for measures of labels (definitions:
    height).
    """
    costs = problem.evaluator.box_costs()
    if problem.limit == 0:
        return costs.rises
    return bool(type(costs) is LabelCosts and not costs.weighs)


METHOD = Method(flash, is_monotone)


class Strategy:
    """The order in which transformations are tried: less generalized ones come first.

    It compares the sum of the levels, then their mean relative to the heights of the hierarchies, then the mean share
    of distinct values that is lost, then the level vectors.
    """

    def __init__(self, problem: Problem) -> None:
        table, top = problem.table, problem.lattice.high
        self._generalized: list[list[float]] = []
        self._lost: list[list[float]] = []
        for a, hierarchy in enumerate(table.hierarchies):
            height = max(hierarchy.level_count - 1, 1)
            self._generalized.append([level / height for level in range(top[a] + 1)])
            distinct = [distinct_labels(table, a, level) for level in range(top[a] + 1)]
            self._lost.append([1 - values / max(distinct[0], 1) for values in distinct])

    def place(self, levels: Levels) -> Place:
        """Return the sort key of a transformation."""
        generalized = sum(shares[level] for shares, level in zip(self._generalized, levels, strict=True))
        lost = sum(shares[level] for shares, level in zip(self._lost, levels, strict=True))
        return sum(levels), generalized, lost, levels


class Paths:
    """The paths of Flash through a lattice. Only transformations in the heap are kept.

    Parameters
    ----------
    is_known : callable
        Whether a transformation needs no visit.
    visit : callable
        Looks at a transformation; afterwards it is known. True if the binary search continues below it, with its
        generalizations known; False if it continues above.
    """

    def __init__(
        self, problem: Problem, search: NodeSearch, is_known: Callable[[Levels], bool], visit: Callable[[Levels], bool]
    ) -> None:
        self._lattice = problem.lattice
        self._search = search
        self._is_known = is_known
        self._visit = visit
        self._place = Strategy(problem).place
        self._heap: list[Place] = []

    def follow_all(self) -> bool:
        """Follow paths until every transformation is known; False if the time ended before."""
        for total in range(sum(self._lattice.low), sum(self._lattice.high) + 1):
            unknown = [
                levels for levels in at_sum(self._lattice, total) if self._goes_on() and not self._is_known(levels)
            ]
            for levels in sorted(unknown, key=self._place):
                self._follow(levels)
                self._empty_heap()
        return self._goes_on()

    def _empty_heap(self) -> None:
        while self._heap:
            *_, levels = heapq.heappop(self._heap)
            for successor in self._successors(levels):
                self._follow(successor)

    def _follow(self, start: Levels) -> None:
        """Search the path from a transformation by binary search, if the transformation is unknown."""
        if not self._goes_on() or self._is_known(start):
            return
        path = self._path(start)
        low, high = 0, len(path)
        while low < high and self._goes_on():
            middle = (low + high - 1) // 2
            if self._visit(path[middle]):
                high = middle
            else:
                low = middle + 1
                heapq.heappush(self._heap, self._place(path[middle]))

    def _path(self, levels: Levels) -> list[Levels]:
        path: list[Levels] = []
        following: Levels | None = levels
        while following is not None:
            path.append(following)
            unknown = (levels for levels in self._successors(following) if not self._is_known(levels))
            following = next(unknown, None)
        return path

    def _successors(self, levels: Levels) -> list[Levels]:
        return sorted((after for _, after in successors(self._lattice, levels)), key=self._place)

    def _goes_on(self) -> bool:
        return self._search.goes_on(len(self._heap))


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
