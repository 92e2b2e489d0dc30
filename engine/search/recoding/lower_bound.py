"""A lower bound of the loss of every local recoding, by prices of records.

Prices u are feasible if of each cell to which k records may be given the k largest sum to at most k times its cost:
then each class of at least k records costs at least the sum of theirs, and all records cost at least the sum of all.
These are solutions of the dual of choosing classes that cover all records once. From any weights g, the least of
`k cost(x) g(r) / (sum of the k largest g in x)` over the cells x of a record r is feasible; equal weights give what
each record costs at least by itself. The second pass has these as weights, so that a rare record charges for those that
must come along into its expensive cell; further ones the geometric mean of weights and prices.

Models beyond a class size only forbid classes, so the bound holds for them as well. Of the records that may be
suppressed, as many as the limit allows, those of whom most is saved cost what that costs instead of their price. Where
a pass over all attributes would take too long, groups of them are priced apart: a cell of all attributes is part of a
cell of each group, with no fewer records, and costs the sum.

Where a model demands people of a population, a record costs at least what it costs in the cheapest
cell that covers as many people. The larger of the two bounds holds.

An attribute that has one text for several groups of values, such as `*` at two levels, is left out of the bound: there,
cells of several level vectors look alike, and are one class.

Rounding: a price is a handful of products and sums of numbers at least 0, and the bound a sum of prices, so both are
right to far less than the share of 1e-9 by which the bound is lowered in the end.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.search.problem import Problem
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.pieces import additive, shape_of
from engine.search.recoding.prices import bits_of_leaves, prices
from engine.tables.counting.packed import BITS
from engine.tables.counting.text_codes import text_codes
from engine.tables.counting.tuple_index import TupleIndex

_DOWN = 1.0 - 1e-9
_QUICK = 30_000_000
"""Visits that take next to no time."""
_WORTH = 0.02
"""The share by which a pass must have raised the bound for another one to follow."""


def lower_bound(problem: Problem, passes: int, visits: int, deadline: Deadline, enough: float = math.inf) -> float:
    """Return a loss below which no local recoding is.

    Parameters
    ----------
    passes : int
        Over all cells at most; 0 for no bound, which is 0.
    visits : int
        Tuples times level vectors of a pass at most; above it, attributes are priced in groups.
    deadline : Deadline
        A pass that is not complete by then proves nothing; where none was, a quick one over groups of attributes is
        made all the same.
    enough : float
        A bound at which no further pass is made.
    """
    table = problem.table
    if not passes or not table.records:
        return 0.0
    refused = np.zeros(table.counts.size, np.bool_) if table.refused is None else table.refused
    shape = shape_of(problem)
    kept = np.flatnonzero(~refused & (table.counts > 0))
    least = max(model.minimum_class_size for model in problem.models)
    suppressed = _suppressed_costs(problem)

    def groups_of(visits: int) -> list[_Group]:
        return _priced(problem, shape, kept, table.counts, least, visits)

    def proven(groups: list[_Group]) -> float:
        return _proven(problem, kept, refused, [group.best for group in groups], suppressed)

    by_people = 0.0
    with deadline.interruptible():
        by_people = _bound_by_people(problem, shape, refused, suppressed, visits, deadline)
    groups, bound = groups_of(visits), 0.0
    for _ in range(passes):
        # after an interrupt the next pass has no time, and what is proven counts
        with deadline.interruptible():
            in_time = [group.passed(problem.threads, deadline) for group in groups]
            before, bound = bound, proven(groups)
            if not all(in_time) or bound >= enough or bound <= before * (1.0 + _WORTH):
                break
    if bound == by_people == 0.0 and deadline.over():
        groups = groups_of(min(visits, _QUICK))
        for group in groups:
            group.passed(problem.threads, Deadline())
        bound = proven(groups)
    return max(by_people, bound)


def _bound_by_people(
    problem: Problem,
    shape: Shape,
    refused: NDArray[np.bool_],
    suppressed: NDArray[np.float64],
    visits: int,
    deadline: Deadline,
) -> float:
    """Return what all records cost at least in cells that cover as many people as the models demand; 0 if none do."""
    least = max(model.least_people for model in problem.models)
    people = problem.table.population
    if least == 1 or people is None:
        return 0.0
    known = np.flatnonzero(~refused)
    groups = _priced(problem, shape, known, people, least, visits)
    if not all(group.passed(problem.threads, deadline) for group in groups):
        return 0.0
    return _proven(problem, known, refused, [group.best for group in groups], suppressed)


def _priced(
    problem: Problem, shape: Shape, kept: NDArray[np.int64], counts: NDArray[np.int64], least: int, visits: int
) -> list[_Group]:
    """Return groups of the attributes of some rows, whose cells must have so many records, or people, each."""
    groups = _groups(problem, _unambiguous(problem, kept), kept, visits) if kept.size else []
    return [_Group(problem, shape, one, kept, counts[kept], least) for one in groups]


def _proven(
    problem: Problem,
    kept: NDArray[np.int64],
    refused: NDArray[np.bool_],
    found: list[NDArray[np.float64]],
    suppressed: NDArray[np.float64],
) -> float:
    """Return what all records cost at least by the prices of groups, each of shape (K,); 0 without any solution."""
    total = np.zeros(refused.size)
    for one in found:
        total[kept] += one
    total[refused] = suppressed[refused]
    counts = problem.table.counts
    gone = _dearest(total - suppressed, counts, problem.limit)
    shown = np.where(gone < counts, total, 0.0) * (counts - gone)
    least = float((shown + gone * suppressed).sum()) * _DOWN
    # where no cell has enough records, and nothing may be suppressed, there is no solution at all
    return least if math.isfinite(least) else 0.0


def _dearest(saved: NDArray[np.float64], counts: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return how many records of each row to suppress so that most is saved by `limit` of them, shape (R,)."""
    order = np.argsort(-saved, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    gone = np.zeros_like(counts)
    gone[order] = np.clip(limit - before, 0, counts[order])
    return np.where(saved > 0.0, gone, 0)


def _unambiguous(problem: Problem, kept: NDArray[np.int64]) -> list[int]:
    """Return the attributes of which each text stands for the same values at each level that has it."""
    found = []
    for a, hierarchy in enumerate(problem.table.hierarchies):
        present = np.unique(problem.table.codes[a][kept])
        texts = text_codes(hierarchy)[problem.lattice.low[a] : problem.lattice.high[a] + 1, present]
        groups = {(text, (of_level == text).tobytes()) for of_level in texts for text in np.unique(of_level).tolist()}
        if len(groups) == np.unique(texts).size:
            found.append(a)
    return found


def _groups(problem: Problem, attributes: list[int], kept: NDArray[np.int64], visits: int) -> list[list[int]]:
    """Put attributes into the fewest groups whose level vectors and labels are few enough, large ones first."""
    heights = [high - low + 1 for low, high in zip(problem.lattice.low, problem.lattice.high, strict=True)]
    bits = [bits_of_leaves(np.unique(codes[kept]).size) for codes in problem.table.codes]
    order = sorted(attributes, key=lambda a: (-heights[a], a))
    for number in range(1, len(order)):
        groups: list[list[int]] = [[] for _ in range(number)]
        for a in order:
            min(groups, key=lambda group: math.prod(heights[one] for one in group)).append(a)
        few = sum(math.prod(heights[a] for a in group) for group in groups) * problem.table.counts.size <= visits
        if few and all(sum(bits[a] for a in group) <= BITS for group in groups):
            return groups
    return [[a] for a in order]


def _part(shape: Shape, group: list[int]) -> Shape:
    """Return the shape of some attributes."""
    chosen = np.array(group)
    return shape._replace(
        offsets=shape.offsets[chosen], leaves=shape.leaves[chosen], low=shape.low[chosen], high=shape.high[chosen]
    )


class _Group:
    """The prices of rows for some attributes, after as many passes as were asked for.

    Attributes
    ----------
    best : float64, shape (K,)
        Those of the pass that proves most, 0 before the first one; per row that may be recoded.
    """

    def __init__(
        self,
        problem: Problem,
        shape: Shape,
        group: list[int],
        kept: NDArray[np.int64],
        counts: NDArray[np.int64],
        least: int,
    ) -> None:
        table = problem.table
        self._shape = _part(shape, group)
        self._index = TupleIndex([table.codes[a][kept] for a in group], [int(leaves) for leaves in self._shape.leaves])
        self._codes = np.ascontiguousarray(self._index.known.T)
        records = np.bincount(self._index.group, weights=counts, minlength=self._codes.shape[1])
        self._counts = records.astype(np.int64)
        self._least = least
        self._weights = np.ones(self._counts.size)
        self._most = -math.inf
        self.best = np.zeros(kept.size)

    def passed(self, threads: int, deadline: Deadline) -> bool:
        """Make a pass, and tell whether it was complete in time."""
        found = prices(self._shape, self._codes, self._counts, self._weights, self._least, threads, deadline)
        if found is None:
            return False
        there = self._counts > 0
        total = float((found[there] * self._counts[there]).sum())
        self._weights = found if math.isinf(self._most) else np.sqrt(self._weights * found)
        if total > self._most:
            self.best, self._most = found[self._index.group], total
        return True


def _suppressed_costs(problem: Problem) -> NDArray[np.float64]:
    """Return what each row costs at least, per record, if it is suppressed, shape (R,)."""
    table = problem.table
    costs = np.zeros(table.counts.size)
    for a, of_leaf in enumerate(additive(problem).suppressed_costs()):
        costs += of_leaf[problem.lattice.low[a] : problem.lattice.high[a] + 1].min(axis=0)[table.codes[a]]
    return costs
