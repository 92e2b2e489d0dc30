"""A lower bound of the loss of every local recoding, by prices of records.

Prices u are feasible if of each cell to which k records may be given the k largest sum to at most k times its cost:
then each class of at least k records costs at least the sum of theirs, and all records cost at least the sum of all.
These are solutions of the dual of choosing classes that cover all records once. From any weights g, the least of
`k cost(x) g(r) / (sum of the k largest g in x)` over the cells x of a record r is feasible; equal weights give what
each record costs at least by itself. Further passes take the geometric mean of weights and prices as weights, so that
a rare record charges for those that must come along into its expensive cell.

Models beyond a class size only forbid classes, so the bound holds for them as well. A record that is suppressed costs
what that costs, or its price, whichever is less. Where a pass over all attributes would take too long, groups of them
are priced apart: a cell of all attributes is part of a cell of each group, with no fewer records, and costs the sum.

An attribute that has one text for several groups of values, such as `*` at two levels, is left out of the bound: there,
cells of several level vectors look alike, and are one class.

Rounding: a price is a handful of products and sums of numbers at least 0, and the bound a sum of prices, so both are
right to far less than the share of 1e-9 by which the bound is lowered in the end.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.kernels.prices import lowered_prices
from engine.kernels.recoding import Shape
from engine.search.problem import Problem
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.pieces import additive, shape_of
from engine.tables.recoding import text_codes
from engine.tables.tuple_index import TupleIndex

_DOWN = 1.0 - 1e-9
_CHUNKS = 64
"""Parts of a pass, between which the time is looked at."""


def lower_bound(problem: Problem, passes: int, visits: int, deadline: Deadline) -> float:
    """Return a loss below which no local recoding is.

    Parameters
    ----------
    passes : int
        Over all cells; 0 for no bound, which is 0.
    visits : int
        Tuples times level vectors of a pass at most; above it, attributes are priced in groups.
    deadline : Deadline
        A pass that is not complete by then proves nothing.
    """
    if not passes:
        return 0.0
    table = problem.table
    refused = np.zeros(table.counts.size, np.bool_) if table.refused is None else table.refused
    shape = shape_of(problem)
    kept = np.flatnonzero(~refused)
    prices = np.zeros(table.counts.size)
    for group in _groups(problem, _unambiguous(problem, kept), visits):
        found = _of_group(problem, _part(shape, group), group, kept, passes, deadline)
        if found is not None:
            prices[kept] += found
    suppressed = _suppressed_costs(problem)
    if problem.limit:
        prices = np.minimum(prices, suppressed)
    prices[refused] = suppressed[refused]
    bound = float((prices * table.counts).sum())
    # where no cell has enough records, and nothing may be suppressed, there is no solution at all
    return bound * _DOWN if math.isfinite(bound) else 0.0


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


def _groups(problem: Problem, attributes: list[int], visits: int) -> list[list[int]]:
    """Put attributes into the fewest groups whose level vectors are few enough, large ones first."""
    heights = [high - low + 1 for low, high in zip(problem.lattice.low, problem.lattice.high, strict=True)]
    order = sorted(attributes, key=lambda a: (-heights[a], a))
    for number in range(1, len(order)):
        groups: list[list[int]] = [[] for _ in range(number)]
        for a in order:
            min(groups, key=lambda group: math.prod(heights[one] for one in group)).append(a)
        if sum(math.prod(heights[a] for a in group) for group in groups) * problem.table.counts.size <= visits:
            return groups
    return [[a] for a in order]


def _part(shape: Shape, group: list[int]) -> Shape:
    """Return the shape of some attributes."""
    chosen = np.array(group)
    return shape._replace(
        offsets=shape.offsets[chosen], leaves=shape.leaves[chosen], low=shape.low[chosen], high=shape.high[chosen]
    )


def _of_group(
    problem: Problem, shape: Shape, group: list[int], kept: NDArray[np.int64], passes: int, deadline: Deadline
) -> NDArray[np.float64] | None:
    """Return the best prices of rows for some attributes; None if no pass was complete in time."""
    table = problem.table
    columns = [table.codes[a][kept] for a in group]
    index = TupleIndex(columns, [int(leaves) for leaves in shape.leaves])
    codes = np.ascontiguousarray(index.known.T)
    counts = np.bincount(index.group, weights=table.counts[kept], minlength=codes.shape[1]).astype(np.int64)
    least = max(model.minimum_class_size for model in problem.models)
    weights = np.ones(counts.size)
    best: NDArray[np.float64] | None = None
    most = -math.inf
    for _ in range(passes):
        prices = _passed(shape, codes, counts, weights, least, problem.threads, deadline)
        if prices is None:
            break
        total = float((prices * counts).sum())
        if best is None or total > most:
            best, most = prices, total
        if not math.isfinite(total):
            break
        weights = np.sqrt(weights * prices)
    return None if best is None else best[index.group]


def _passed(
    shape: Shape,
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    least: int,
    threads: int,
    deadline: Deadline,
) -> NDArray[np.float64] | None:
    """Return the prices of tuples by these weights, shape (tuples,); None if the time ended before."""
    vectors = math.prod((shape.high - shape.low + 1).tolist())
    keys = np.random.default_rng(0).integers(0, 1 << 64, shape.labels.size, np.uint64)
    # labels of one level that are equal have one number
    keys = _by_label(shape, keys)
    order = np.argsort(-weights, kind="stable")
    given = np.ascontiguousarray(codes[:, order]), counts[order], weights[order]
    edges = np.linspace(0, vectors, min(vectors, _CHUNKS * threads) + 1).astype(np.int64)

    def run(part: int) -> NDArray[np.float64] | None:
        # a weight of 0 is a price of 0
        prices = np.where(given[2] > 0.0, np.inf, 0.0)
        for chunk in range(part, edges.size - 1, threads):
            if deadline.over():
                return None
            lowered_prices(shape, *given, keys, least, edges[chunk], edges[chunk + 1], prices)
        return prices

    found = deadline.share(run, range(threads), threads)
    if any(one is None for one in found):
        return None
    prices = np.empty(counts.size)
    prices[order] = np.minimum.reduce([one for one in found if one is not None])
    return prices


def _by_label(shape: Shape, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each leaf at each level: the one that belongs to its label."""
    found = np.zeros_like(keys)
    for a, (offset, leaves) in enumerate(zip(shape.offsets.tolist(), shape.leaves.tolist(), strict=True)):
        for level in range(int(shape.high[a]) + 1):
            at = offset + level * leaves
            found[at : at + leaves] = keys[at + shape.labels[at : at + leaves]]
    return found


def _suppressed_costs(problem: Problem) -> NDArray[np.float64]:
    """Return what each row costs at least, per record, if it is suppressed, shape (R,)."""
    table = problem.table
    costs = np.zeros(table.counts.size)
    for a, of_leaf in enumerate(additive(problem).suppressed_costs()):
        costs += of_leaf[problem.lattice.low[a] : problem.lattice.high[a] + 1].min(axis=0)[table.codes[a]]
    return costs
