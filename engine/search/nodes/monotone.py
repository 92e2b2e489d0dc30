"""Whether a problem is monotone: what searches that hand answers on to generalizations need to be exact.

Kohlmayer, Prasser, Kuhn, The cost of quality. J Biomed Inform 58, 2015, sections 2.4 to 2.6.
"""

from __future__ import annotations

from engine.search.check import Checker
from engine.search.problem import Problem
from engine.utility.bounds.label_costs import LabelCosts


def is_monotone(problem: Problem) -> bool:
    """Whether all generalizations of a solution are solutions too, and none of them loses less than it does."""
    return Checker(problem).inherited and _loses_by_generalization(problem)


def _loses_by_generalization(problem: Problem) -> bool:
    """Whether no solution has a generalization that loses less.

    While nothing is suppressed the measure tells; if something is, it holds for measures of labels alone (definitions:
    height).
    """
    costs = problem.evaluator.box_costs()
    if problem.limit == 0:
        return costs.rises
    return bool(type(costs) is LabelCosts and not costs.weighs)
