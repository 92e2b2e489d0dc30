"""Recodings beside a population whose cells cover nobody in common, and the same with smaller cells inside of them.

In: a problem whose models count the people of a class by its labels, and its full-domain solution. Out: candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.kernels.cells import Shape
from engine.lattice.space import Levels
from engine.privacy.table_wide import TableWideModel
from engine.search.problem import Problem, Solution
from engine.search.recoding.begin import as_pieces, classes_at
from engine.search.recoding.beside import by_records
from engine.search.recoding.candidate import (
    Candidate,
    best_of,
    if_it_holds,
    with_suppressed,
)
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.local_search import improved
from engine.search.recoding.pieces import Pieces, shape_of
from engine.search.recoding.settings import Settings
from engine.search.recoding.splitting import Split, Splitting, failing_of
from engine.tables.counting.frequency import Classes
from engine.tables.counting.present_classes import PresentClasses
from engine.utility.information_loss import leading

_LITTLE = 1e-3
"""The share of the loss that classes one level higher must save for those above them to be tried."""


def searched_apart(start: Solution, problem: Problem, settings: Settings, deadline: Deadline) -> Iterator[Candidate]:
    """Yield recodings whose cells cover nobody in common, and the same with smaller cells inside of those with records.

    The classes at the highest levels are split, those of the full-domain solution, and from there on those one level
    above in each attribute, as long as the best of these loses less. Models judge the people of a class by its rows,
    which are all rows that have its labels.
    """
    yield from _split_apart(problem, problem.lattice.high, settings, deadline)
    near, least = [start.levels], math.inf
    while near and not deadline.over():
        found = {levels: list(_split_apart(problem, levels, settings, deadline)) for levels in near}
        for candidates in found.values():
            yield from candidates
        losses = {levels: leading(best_of(some).solution.loss) for levels, some in found.items() if some}
        best = min(losses, key=lambda levels: losses[levels], default=start.levels)
        if not losses or losses[best] >= least * (1.0 - _LITTLE):
            return
        least, near = losses[best], list(_above(problem, best))


def _above(problem: Problem, levels: Levels) -> Iterator[Levels]:
    """Yield the levels one above some in each attribute."""
    for a, high in enumerate(problem.lattice.high):
        if levels[a] < high:
            yield (*levels[:a], levels[a] + 1, *levels[a + 1 :])


def _split_apart(problem: Problem, levels: Levels, settings: Settings, deadline: Deadline) -> Iterator[Candidate]:
    """Yield what becomes of the classes at some levels: the best that holds; all, where models judge them together."""
    begin = classes_at(problem, levels)
    if begin is None:
        return
    shape = shape_of(problem)
    apart = Splitting(problem, shape, settings.block, apart=True).run(begin.gid, begin.levels, deadline)
    found = [as_pieces(problem, apart), *_inside(problem, shape, apart, settings, deadline)]
    together = any(isinstance(model, TableWideModel) for model in problem.models)
    for pieces in reversed(found):
        holding = list(if_it_holds(problem, with_suppressed(problem, begin.gone, pieces)))
        yield from holding
        if holding and not together:
            return


def _inside(problem: Problem, shape: Shape, apart: Split, settings: Settings, deadline: Deadline) -> Iterator[Pieces]:
    """Yield the same classes with smaller ones inside of those that have records enough, each better than before."""
    of_records = by_records(problem)
    if of_records is None:
        return
    inside = Splitting(of_records, shape, settings.block).run(apart.gid, apart.levels, deadline)
    pieces = as_pieces(problem, inside)
    yield pieces
    if settings.algorithm != "clustering" or deadline.over():
        return
    # rows that only the population has need not be shown
    table = problem.table
    fails = failing_of(of_records, PresentClasses.of(Classes(table, inside.gid + 1, inside.levels.shape[0] + 1)))[1:]
    moving = (inside.gid >= 0) & (table.counts > 0)
    moving[moving] = ~fails[inside.gid[moving]]
    if moving.any():
        gid, blocks = np.where(moving, inside.gid, -1), apart.gid.astype(np.int64)
        moved = improved(of_records, shape, table, gid, blocks, deadline)
        yield pieces._replace(levels=np.where(moving[pieces.tuples, None], moved[pieces.tuples], pieces.levels))
