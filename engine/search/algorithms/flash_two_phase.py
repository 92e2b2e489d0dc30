"""Flash in two phases: exact for monotone, partially monotone and non-monotone problems.

Kohlmayer, Prasser, Kuhn, The cost of quality: implementing generalization and suppression for anonymizing biomedical
data with minimal information loss. J Biomed Inform 58:37-48, 2015, section 2.7 (Flash2P).

- A monotone problem is solved by Flash, which prunes in both directions.
- Any other problem has two phases. The first is Flash for a monotone property that every solution has: the number of
  records that fail here and in all specializations (such as those in classes smaller than the models allow) is within
  the limit. It ends at the border of this property; below the border there is no solution. The second phase checks the
  rest, depth first.

With suppression only the measure height is monotone: a solution does not rule out its generalizations, which may
suppress less. In both phases they are ruled out by the bound of Prasser, Kohlmayer, Kuhn, Efficient and effective
pruning strategies for health data de-identification. BMC Med Inform Decis Mak 16:49, 2016, section "Insufficient data
quality": the loss by generalization alone is no better than the best solution. If a measure has no bound
(Kullback-Leibler divergence) and the models have no such property (a minimum class size of 1), the whole lattice is
checked.
"""

from __future__ import annotations

from engine.lattice.properties import property_store
from engine.lattice.space import Levels, replaced
from engine.search.algorithms import flash as monotonic
from engine.search.nodes.flash_paths import Paths
from engine.search.nodes.monotone import is_monotone
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution
from engine.tables.counting.frequency import Classes


def flash(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`."""
    if is_monotone(problem):
        return monotonic.flash(problem, progress)
    return _TwoPhases(problem, progress).run()


METHOD = Method(flash)


class _TwoPhases:
    def __init__(self, problem: Problem, progress: Progress | None) -> None:
        self._problem = problem
        self._checker = RollUpChecker(problem)
        self._search = NodeSearch(problem, progress, self._checker)
        self._unprotected = property_store(problem.lattice, "downwards")
        self._possible = property_store(problem.lattice, "upwards")
        self._poor = property_store(problem.lattice, "upwards")
        self._checked: set[Levels] = set()

    def run(self) -> Solution | None:
        paths = Paths(self._problem, self._search, self._is_known, self._is_possible)
        if paths.follow_all() and self._check_the_rest():
            return self._search.solution(NOTHING_LEFT)
        return self._search.solution()

    def _is_known(self, levels: Levels) -> bool:
        return levels in self._unprotected or levels in self._possible or levels in self._poor

    def _is_possible(self, levels: Levels) -> bool:
        """Check a transformation; False if neither it nor a specialization is a solution."""
        if self._is_poor(levels):
            return True
        classes = self._checker.partition(levels)
        if not self._checker.inherited and self._surely_fails(classes):
            self._unprotected.insert(levels)
            return False
        self._checked.add(levels)
        if self._search.check(levels, classes).loss is None and self._checker.inherited:
            self._unprotected.insert(levels)
            return False
        self._possible.insert(levels)
        return True

    def _surely_fails(self, classes: Classes) -> bool:
        fails, ended = self._checker.surely_fails(classes)
        return ended or int(classes.counts[fails].sum()) > self._problem.limit

    def _is_poor(self, levels: Levels) -> bool:
        """Whether neither a transformation nor a generalization of it is preferred to the best solution."""
        if levels in self._poor:
            return True
        if not self._search.is_hopeless(self._search.bound(levels), levels):
            return False
        self._poor.insert(levels)
        return True

    def _check_the_rest(self) -> bool:
        """Check the transformations that the first phase left, each once; False if the time ended before."""
        lattice = self._problem.lattice
        stack = [(lattice.low, 0)]
        while stack:
            if not self._search.goes_on(len(stack)):
                return False
            levels, first = stack.pop()
            if levels not in self._unprotected:
                if self._is_poor(levels):
                    continue
                if levels not in self._checked:
                    self._search.check(levels)
            stack.extend(
                (replaced(levels, a, levels[a] + 1), a)
                for a in range(first, len(levels))
                if levels[a] < lattice.high[a]
            )
        return True
