"""Datafly: generalize the attribute with most distinct values until few enough records must be suppressed.

Sweeney, Datafly: a system for providing anonymity in medical data. Database Security XI, 1997; Sweeney, Achieving
k-anonymity privacy protection using generalization and suppression. Int J Uncertain Fuzz 10(5):571-588, 2002, section
4. There the criterion is k-anonymity; here it is all criteria of the problem, with its suppression limit. Of several
attributes with equally many distinct values the first one is generalized. It uses no measure: a heuristic.
"""

from __future__ import annotations

from engine.lattice.space import Levels
from engine.search.nodes.node_search import NodeSearch, distinct_labels, successors
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution, heuristic


def datafly(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`; None also if no transformation on its path is a solution."""
    search = NodeSearch(problem, progress, RollUpChecker(problem))
    levels: Levels | None = problem.lattice.low
    while levels is not None and search.goes_on():
        if search.check(levels).loss is not None:
            break
        levels = _generalized(problem, levels)
    return search.solution()


METHOD = Method(datafly, heuristic)


def _generalized(problem: Problem, levels: Levels) -> Levels | None:
    steps = [
        (-distinct_labels(problem.table, a, levels[a]), a, after) for a, after in successors(problem.lattice, levels)
    ]
    return min(steps)[2] if steps else None
