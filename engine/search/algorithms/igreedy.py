"""IGreedy: climb to the generalization whose smallest class is largest, to the first solution.

Babu, Reddy, Kumar, Elliot, Jena, Achieving k-anonymity using improved greedy heuristics for very large relational
databases. Transactions on Data Privacy 6(1):1-17, 2013; as compared in Prasser, Kohlmayer, Kuhn, BMC Med Inform Decis
Mak 16:49, 2016, section "Evaluation of the BFS algorithm". On a tie it takes the generalization of the attribute with
most distinct values, as Datafly does, then that of the first attribute. If one step reaches several solutions, the
preferred one is returned. A heuristic: the path uses no measure.
"""

from __future__ import annotations

from engine.lattice.space import Levels
from engine.search.nodes.node_search import NodeSearch, distinct_labels, successors
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution, heuristic


def igreedy(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`; None also if no transformation on its path is a solution."""
    checker = RollUpChecker(problem)
    search = NodeSearch(problem, progress, checker)
    levels: Levels | None = problem.lattice.low
    search.check(problem.lattice.low)
    while levels is not None and search.best is None and search.goes_on():
        levels = _climbed(problem, search, checker, levels)
    return search.solution()


METHOD = Method(igreedy, heuristic)


def _climbed(problem: Problem, search: NodeSearch, checker: RollUpChecker, levels: Levels) -> Levels | None:
    """Check all direct generalizations and return the one to continue from; None at the top, or without time."""
    steps = []
    for a, after in successors(problem.lattice, levels):
        if not search.goes_on():
            return None
        classes = checker.partition(after)
        search.check(after, classes)
        # classes that only the population has contain no record
        smallest = int(classes.counts[classes.counts > 0].min())
        steps.append((-smallest, -distinct_labels(problem.table, a, levels[a]), a, after))
    return min(steps)[3] if steps else None
