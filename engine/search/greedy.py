"""A first solution: from the top of the lattice down, to the first valid specialization that loses less.

Greedy top-down specialization by exact loss, after Fung, Wang, Yu, Top-down specialization for information and privacy
preservation. ICDE 2005. Attributes are tried in the order of what generalization alone would gain. It guarantees
nothing and gives other searches their first solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.lattice.space import Levels, replaced
from engine.search.check import Check, Checker
from engine.search.problem import Problem, preference
from engine.tables.counting.frequency import Classes
from engine.utility.information_loss import ranked


def greedy(checker: Checker, problem: Problem, is_over: Callable[[], bool]) -> Iterator[Check]:
    """Descend as long as the loss falls: yield solutions, each better than the one before; none if the top is none.

    Parameters
    ----------
    is_over : callable
        Whether to end; asked before each evaluation but the first.
    """
    high = problem.lattice.high
    classes = problem.table.partition(high)
    here = checker.check(high, classes)
    hopeless: set[tuple[int, int]] = set()
    while here.loss is not None:
        yield here
        below = _first_better(checker, problem, here, classes, hopeless, is_over)
        if below is None:
            return
        here, classes = below


def _first_better(
    checker: Checker,
    problem: Problem,
    here: Check,
    classes: Classes,
    hopeless: set[tuple[int, int]],
    is_over: Callable[[], bool],
) -> tuple[Check, Classes] | None:
    """Return a better specialization; note the levels of attributes that no solution further down has either."""
    nothing = np.empty(0, np.int64)
    candidates = [
        replaced(here.levels, a, level - 1)
        for a, level in enumerate(here.levels)
        if level > problem.lattice.low[a] and (a, level - 1) not in hopeless
    ]

    def generalized(levels: Levels) -> tuple[float, ...]:
        # of hundreds of attributes it takes seconds to bound all: once the time is over, the order does not matter
        return () if is_over() else ranked(problem.evaluator.bound(levels, levels, nothing))

    for levels in sorted(candidates, key=generalized):
        if is_over():
            return None
        a = next(a for a, (new, old) in enumerate(zip(levels, here.levels, strict=True)) if new != old)
        finer = classes.refined(a, levels[a])
        below = checker.check(levels, finer)
        if is_better(below, here):
            return below, finer
        if below.loss is None and checker.inherited:
            hopeless.add((a, levels[a]))
    return None


def is_better(new: Check, old: Check | None) -> bool:
    """Whether a check is a solution and preferred to another."""
    if new.loss is None:
        return False
    return old is None or old.loss is None or preference(new.loss, new.levels) < preference(old.loss, old.levels)
