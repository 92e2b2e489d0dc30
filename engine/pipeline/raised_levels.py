"""Levels that rise for all until none of the new persons has to wait (definitions: Series, `arrivals: coarsen`).

In: tonight's problem, the solution that would be released, and who would wait at another one. Out: a solution above it.
A set of new persons that satisfies monotone models still does at higher levels, so if somebody waits at the highest,
nothing is gained by raising them. The walk goes upward by loss, the least first: where no loss falls with a level, what
it finds loses least of all levels above those of the solution. Other levels that lose less may be beside them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace

from engine.lattice.space import Lattice, Levels, replaced
from engine.search.problem import Problem, Solution
from engine.search.registry import method
from engine.utility.information_loss import leading

_MOST = 1000
"""Transformations that are tried."""


def raised(problem: Problem, solution: Solution, waits: Callable[[Solution], bool]) -> Solution:
    """Return the solution itself if nobody waits, or if nothing helps; else one of higher levels at which nobody does.

    Parameters
    ----------
    waits : callable
        Tells whether a new person would have to wait if a solution were released.
    """
    if not waits(solution):
        return solution
    highest = _at(problem, problem.lattice.high)
    if highest is None or waits(highest):
        return solution
    waiting, seen = [(leading(solution.loss), solution.levels)], {solution.levels}
    for _ in range(_MOST):
        loss, levels = heapq.heappop(waiting)
        found = _at(problem, levels)
        if found is not None and not waits(found):
            return _unproven(found, solution)
        for above in _above(problem.lattice, levels):
            if above not in seen:
                seen.add(above)
                one = _at(problem, above)
                heapq.heappush(waiting, (loss if one is None else leading(one.loss), above))
    return _unproven(highest, solution)


def _at(problem: Problem, levels: Levels) -> Solution | None:
    return method("optimal").run(replace(problem, lattice=Lattice(levels, levels), start=None))


def _above(lattice: Lattice, levels: Levels) -> list[Levels]:
    return [replaced(levels, place, level + 1) for place, level in enumerate(levels) if level < lattice.high[place]]


def _unproven(found: Solution, searched: Solution) -> Solution:
    return replace(found, checked=searched.checked, optimal=False, exhaustive=False, lower_bound=searched.lower_bound)
