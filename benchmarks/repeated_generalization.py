"""Full-domain generalization again and again of what was suppressed before: the local recoding of ARX, as a baseline.

Prasser, Kohlmayer, Kuhn, The importance of context: risk-based de-identification of biomedical data. Methods of
Information in Medicine 55(4), 2016. In: a problem whose models judge each class by itself. Out: the loss, where at most
nine in ten of the records that are left may be suppressed per round, and what is left in the end is suppressed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.search.algorithms.optimal import optimal
from engine.search.problem import Problem
from engine.search.recoding.pieces import additive
from engine.utility.information_loss import leading

ROUNDS = 30
"""Of repeated generalization at most."""


def repeated(problem: Problem, seconds: float | None = None) -> float:
    """Return the loss of repeated full-domain generalization of what was suppressed before.

    Parameters
    ----------
    seconds : float, optional
        After which the search of a round ends with the best that it has found.
    """
    table = problem.table
    levels = np.repeat(np.array([problem.lattice.high], np.int8), table.counts.size, axis=0)
    left = np.ones(table.counts.size, np.bool_)
    for _ in range(ROUNDS):
        rest = table.without(np.flatnonzero(~left))
        round_of = replace(problem, table=rest, limit=rest.records * 9 // 10, time_limit=seconds)
        found = optimal(round_of) if rest.records else None
        if found is None:
            break
        kept = left.copy()
        kept[found.suppressed_tuples] = False
        levels[kept] = found.levels
        left &= ~kept
    return leading(additive(problem).loss_of_rows(table.codes, table.counts, levels, np.flatnonzero(left)))
