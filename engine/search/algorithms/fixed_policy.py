"""No search: a policy leaves one transformation; it is checked, and its failing classes are suppressed."""

from __future__ import annotations

from engine.errors import InvalidJob
from engine.search.check import Checker
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch
from engine.search.problem import Method, Problem, Progress, Solution


def policy(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """Check the transformation.

    Raises
    ------
    InvalidJob
        There are several transformations, because some quasi-identifier has no policy.
    """
    if problem.lattice.low != problem.lattice.high:
        raise InvalidJob(
            "search.algorithm policy: every quasi-identifier needs a policy and equal minimum_level and maximum_level; "
            "name the policy file under search.file"
        )
    search = NodeSearch(problem, progress, Checker(problem))
    search.check(problem.lattice.low)
    return search.solution(NOTHING_LEFT, exhaustive=True)


METHOD = Method(policy)
