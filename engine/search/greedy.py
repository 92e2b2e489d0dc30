"""A first solution: from the top of the lattice down, to the first valid specialization that loses less.

Greedy top-down specialization by exact loss, after Fung, Wang, Yu, Top-down specialization for information and privacy
preservation. ICDE 2005. Attributes are tried in the order of what generalization alone would gain. It guarantees
nothing and gives other searches their first solution.
"""

from __future__ import annotations

import numpy as np

from engine.lattice.space import Levels, replaced
from engine.search.check import Check, Checker
from engine.search.problem import Problem, preference
from engine.tables.counting.frequency import Classes
from engine.utility.information_loss import ranked


def greedy(checker: Checker, problem: Problem) -> Check | None:
    """Descend as long as the loss falls; None if the top is no solution."""
    high = problem.lattice.high
    classes = problem.table.partition(high)
    here = checker.check(high, classes)
    if here.loss is None:
        return None
    hopeless: set[tuple[int, int]] = set()
    while True:
        below = _first_better(checker, problem, here, classes, hopeless)
        if below is None:
            return here
        here, classes = below


def _first_better(
    checker: Checker, problem: Problem, here: Check, classes: Classes, hopeless: set[tuple[int, int]]
) -> tuple[Check, Classes] | None:
    """Return a better specialization; note the levels of attributes that no solution further down has either."""
    nothing = np.empty(0, np.int64)
    candidates = [
        replaced(here.levels, a, level - 1)
        for a, level in enumerate(here.levels)
        if level > problem.lattice.low[a] and (a, level - 1) not in hopeless
    ]

    def generalized(levels: Levels) -> tuple[float, ...]:
        return ranked(problem.evaluator.bound(levels, levels, nothing))

    for levels in sorted(candidates, key=generalized):
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
