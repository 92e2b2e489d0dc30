"""Best-first branch and bound over the transformations of the lattice, from the lowest one upwards.

Prasser, Kohlmayer, Kuhn, Efficient and effective pruning strategies for health data de-identification. BMC Med Inform
Decis Mak 16:49, 2016, section "Effective pruning in large search spaces". Each transformation that is reached is
checked and put into a queue; the one whose output (with suppression) loses least is expanded next. The loss by
generalization alone is a lower bound for all generalizations of a transformation: if it does not beat the best
solution, they are skipped. The search ends when the queue is empty, so it is exact in any order.

With prediction, facts about one transformation are used for others (predictive properties):

- Insufficient quality, by the bound, passes to all generalizations: they are not bounded again where another path
  reaches them.
- Insufficient protection passes to specializations where it is found by what every specialization must suppress
  (`Checker.surely_suppressed`): all of it for monotone models, for others what their relaxation is sure of. They are
  expanded without a check.
"""

from __future__ import annotations

import heapq
from functools import partial

from engine.lattice.properties import PropertyStore, property_store
from engine.lattice.space import Levels
from engine.search.check import Check
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch, successors
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution
from engine.tables.counting.frequency import Classes
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import ranked

Waiting = tuple[tuple[float, ...], Levels, Bound]
"""Loss of a transformation, or an estimate; its levels; a lower bound of its generalizations."""


def best_first(problem: Problem, progress: Progress | None = None, *, predicts: bool = True) -> Solution | None:
    """See `Algorithm`; `predicts` says whether predictive properties are used."""
    return _Search(problem, progress, predicts=predicts).run()


METHOD = Method(best_first)
WITHOUT_PREDICTION = Method(partial(best_first, predicts=False))


class _Search:
    def __init__(self, problem: Problem, progress: Progress | None, *, predicts: bool) -> None:
        self._problem = problem
        self._checker = RollUpChecker(problem)
        self._search = NodeSearch(problem, progress, self._checker)
        self._queue: list[Waiting] = []
        self._reached: set[Levels] = set()
        self._poor: PropertyStore | None = None
        self._unprotected: PropertyStore | None = None
        if predicts:
            self._poor = property_store(problem.lattice, "upwards")
            self._unprotected = property_store(problem.lattice, "downwards")

    def run(self) -> Solution | None:
        low = self._problem.lattice.low
        self._reach(low, ((), low, self._search.floor))
        while self._queue:
            if not self._search.goes_on(len(self._queue), self._lower_bound):
                return self._search.solution(self._lower_bound())
            head = heapq.heappop(self._queue)
            _, levels, bound = head
            if self._is_poor(levels, bound):
                continue
            for _, successor in successors(self._problem.lattice, levels):
                if not self._search.goes_on(len(self._queue) + 1, partial(self._lower_bound, bound)):
                    # what is not reached of it is bounded by it
                    heapq.heappush(self._queue, head)
                    break
                self._reach(successor, head)
        return self._search.solution(NOTHING_LEFT)

    def _reach(self, levels: Levels, origin: Waiting) -> None:
        """Put a transformation into the queue, unless it was there before or its generalizations cannot be better."""
        if levels in self._reached or (self._poor is not None and levels in self._poor):
            return
        estimate, _, inherited = origin
        bound = max(inherited, self._search.bound(levels))
        if self._is_poor(levels, bound):
            return
        self._reached.add(levels)
        loss = estimate if self._unprotected is not None and levels in self._unprotected else self._check(levels)
        heapq.heappush(self._queue, (loss, levels, bound))

    def _check(self, levels: Levels) -> tuple[float, ...]:
        """Check a transformation; return the loss of its output, solution or not."""
        classes = self._checker.partition(levels)
        check = self._search.check(levels, classes)
        if check.loss is not None:
            return ranked(check.loss)
        if self._unprotected is not None and self._surely_fails(check, classes):
            self._unprotected.insert(levels)
        return ranked(self._problem.evaluator.loss(levels, classes, check.rows))

    def _surely_fails(self, check: Check, classes: Classes) -> bool:
        limit = self._problem.limit
        if self._checker.inherited and check.suppressed > limit:
            return True
        return self._checker.surely_suppressed(classes)[1] > limit

    def _is_poor(self, levels: Levels, bound: Bound) -> bool:
        if not self._search.is_hopeless(bound, levels):
            return False
        if self._poor is not None:
            self._poor.insert(levels)
        return True

    def _lower_bound(self, *others: Bound) -> Bound:
        return min([*others, *(bound for _, _, bound in self._queue)])
