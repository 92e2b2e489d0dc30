"""The paths of Flash through a lattice, for both of its forms.

Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash: efficient, stable and optimal k-anonymity. PASSAT 2012, section III.
In: a problem, and what tells known transformations and looks at unknown ones. Out: every transformation is known.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

from engine.lattice.space import Levels, at_sum
from engine.search.nodes.node_search import NodeSearch, distinct_labels, successors
from engine.search.problem import Problem

Place = tuple[int, float, float, Levels]
"""Where a transformation stands in the order of a strategy."""


class Strategy:
    """The order in which transformations are tried: those that generalize less come first.

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
        """Return what transformations are compared by."""
        generalized = sum(shares[level] for shares, level in zip(self._generalized, levels, strict=True))
        lost = sum(shares[level] for shares, level in zip(self._lost, levels, strict=True))
        return sum(levels), generalized, lost, levels


class Paths:
    """The paths of Flash through a lattice. No transformation is kept but those that wait in the heap.

    Parameters
    ----------
    is_known : callable
        Whether a transformation needs no visit.
    visit : callable
        Looks at a transformation; afterwards it is known. True if the binary search goes on below it, with its
        generalizations known; False if it goes on above.
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
        """Follow paths until every transformation is known; False if the time was over before."""
        for total in range(sum(self._lattice.low), sum(self._lattice.high) + 1):
            # a sum has more transformations than any time allows where there are many attributes
            reached = itertools.takewhile(lambda _: self._goes_on(), at_sum(self._lattice, total))
            unknown = [levels for levels in reached if not self._is_known(levels)]
            if not self._goes_on():
                return False
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
        """Search the path from a transformation binarily, if that is unknown."""
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
        while following is not None and self._goes_on():
            path.append(following)
            unknown = (levels for levels in self._successors(following) if not self._is_known(levels))
            following = next(unknown, None)
        return path

    def _successors(self, levels: Levels) -> list[Levels]:
        return sorted((after for _, after in successors(self._lattice, levels)), key=self._place)

    def _goes_on(self) -> bool:
        return self._search.goes_on(len(self._heap))
