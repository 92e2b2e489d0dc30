"""Lattice-based search: climb from the lowest transformation to the best direct generalization while it improves.

Wan, Vorobeychik, Xia, Clayton, Kantarcioglu, Ganta, Heatherly, Malin, A game theoretic framework for analyzing
re-identification risk. PLoS ONE 10(3):e0120592, 2015 (LBS). There it looks for a record with the greatest payoff to its
publisher, here for a table with the least loss that satisfies the criteria. Until it finds a solution, it goes to the
generalization that suppresses fewest records; then to the preferred solution, until no neighbour is preferred to the
current one. A heuristic: it does not turn back.
"""

from __future__ import annotations

from typing import Any

from engine.search.check import Check
from engine.search.nodes.node_search import NodeSearch, successors
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution, heuristic, preference


def lattice_based(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`; None also if no transformation on its path is a solution."""
    search = NodeSearch(problem, progress, RollUpChecker(problem))
    here = search.check(problem.lattice.low)
    while search.goes_on():
        steps = [search.check(levels) for _, levels in successors(problem.lattice, here.levels) if search.goes_on()]
        if not steps:
            break
        step = min(steps, key=_objective)
        if here.loss is not None and _objective(step) > _objective(here):
            break
        here = step
    return search.solution()


METHOD = Method(lattice_based, heuristic)


def _objective(check: Check) -> tuple[Any, ...]:
    """Order solutions by preference, then all others by their number of suppressed records."""
    if check.loss is not None:
        return 0, *preference(check.loss, check.levels)
    return 1, (check.suppressed,), sum(check.levels), check.levels
