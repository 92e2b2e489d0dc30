"""Prices of records: what each is sure to cost in every local recoding, by a pass over all cells of all level vectors.

For positive weights g the price of a record r is g(r) times the least *ratio* of a cell to which it may be given: k
times what a record costs there, over the sum of the k largest weights of the records that may be given it. So the k
largest prices of a cell sum to at most k times its cost, whatever the weights are.

Attributes are settled one after another, each at its lowest level first. From one level vector to the next, cells are
joined (`engine.kernels.prices`). What the remaining attributes cannot make better is left out, as in a search by
branch and bound: of the vectors times tuples, 2 to 10% are visited (shared tables), and the prices are those of all.
"""

from __future__ import annotations

import itertools
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.kernels.prices import Cells, coarser, lower, promising, ratios
from engine.search.recoding.deadline import Deadline
from engine.tables.counting.packed import BITS

_SHARED = 2
"""Attributes, the first ones, whose levels are shared out among threads."""


class _Levels(NamedTuple):
    """An attribute: the leaf of each tuple; per level costs of leaves, and what the level above adds to their keys."""

    leaves: NDArray[np.int32]
    costs: list[NDArray[np.float64]]
    changes: list[NDArray[np.int64]]
    settled: int
    """The bits of the attributes before it."""


def prices(
    shape: Shape,
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    least: int,
    threads: int,
    deadline: Deadline,
) -> NDArray[np.float64] | None:
    """Return the price of each tuple per record, float64, shape (R,); None if the time ended before.

    Parameters
    ----------
    shape : Shape
        Of m attributes, for which `bits_of_leaves` are `BITS` at most in all.
    codes : int32, shape (m, R)
        Leaf codes of tuples.
    counts : int64, shape (R,)
        Records of each.
    weights : float64, shape (R,)
        At least 0.
    least : int
        Records that a class has at least, k.

    Notes
    -----
    A price is infinite where no cell of a tuple has k records. Labels are compared by all their bits, so cells are
    never taken for one another. Each thread's memory is that of the cells from the first vector to the one it is at.
    """
    order = np.argsort(-weights, kind="stable")
    attributes = _attributes(shape, codes[:, order], plain=bool((weights == weights[0]).all()))
    looked = _Pass(attributes, counts[order], weights[order], least, deadline)
    found = looked.run(threads)
    if found is None:
        return None
    by_tuple = np.empty(order.size)
    by_tuple[order] = found
    return by_tuple


def _attributes(shape: Shape, codes: NDArray[np.int32], *, plain: bool) -> list[_Levels]:
    """Return attributes in the order in which least is visited.

    Where weights are equal, each cell that is large enough ends the way up: attributes of few leaves come first, so
    that few levels of those with many leaves are reached. Else tall ones come first, with which most is ruled out.
    """
    heights, leaves = shape.high - shape.low, [np.unique(one).size for one in codes]
    names = sorted(range(codes.shape[0]), key=lambda a: (leaves[a], a) if plain else (-heights[a], -leaves[a], a))
    found, bit = [], 0
    for a in names:
        present, own = np.unique(codes[a], return_inverse=True)
        begin, width = int(shape.offsets[a]), int(shape.leaves[a])
        at = [begin + level * width + present for level in range(int(shape.low[a]), int(shape.high[a]) + 1)]
        labels = [np.unique(shape.labels[one], return_inverse=True)[1].astype(np.int64) << bit for one in at]
        # the first change is from no label
        changes = [after - before for before, after in itertools.pairwise([np.zeros_like(labels[0]), *labels])]
        found.append(_Levels(own.astype(np.int32), [shape.costs[one] for one in at], changes, (1 << bit) - 1))
        bit += bits_of_leaves(present.size)
    assert bit <= BITS  # noqa: S101 (the caller's groups)
    return found


def bits_of_leaves(leaves: int) -> int:
    """Return the bits that a pass needs for an attribute of which so many leaves are there."""
    return (leaves - 1).bit_length()


class _Pass:
    def __init__(
        self,
        attributes: list[_Levels],
        counts: NDArray[np.int64],
        weights: NDArray[np.float64],
        least: int,
        deadline: Deadline,
    ) -> None:
        self._attributes, self._weights, self._least, self._deadline = attributes, weights, least, deadline
        tuples = np.arange(counts.size, dtype=np.int32)
        keys = np.zeros(counts.size, np.int64)
        for one in attributes:
            keys += one.changes[0][one.leaves]
        records = np.minimum(counts, least).astype(np.int32)
        zero = np.zeros(counts.size)
        each = Cells(keys, tuples, zero, np.full(counts.size, np.inf), tuples, tuples, records)
        self._found = np.full(counts.size, np.inf)
        self._guard = threading.Lock()
        # tuples whose labels are alike at the lowest levels are one cell
        none = np.zeros(int(attributes[0].leaves.max()) + 1, np.int64)
        self._start, self._cell = coarser(each, attributes[0].leaves, none, least, weights)

    def run(self, threads: int) -> NDArray[np.float64] | None:
        shared = self._attributes[:_SHARED]
        vectors = list(itertools.product(*(range(len(one.costs)) for one in shared)))
        self._deadline.share(self._below, vectors, threads)
        if self._deadline.over():
            return None
        # a weight of 0 is a price of 0
        found = np.where(self._weights > 0.0, self._found, 0.0)
        return self._weights * found

    def _below(self, vector: tuple[int, ...]) -> None:
        """Lower what is found by all level vectors that begin so; what others have found by now rules out more."""
        with self._guard:
            reached = self._found.copy()
        of_cell = np.zeros(self._start.keys.size)
        np.maximum.at(of_cell, self._cell, reached)
        cells, places = self._start._replace(reached=of_cell), self._cell
        for attribute, level in zip(self._attributes, vector, strict=False):
            for change in attribute.changes[1 : level + 1]:
                cells, place = coarser(cells, attribute.leaves, change, self._least, self._weights)
                places = place[places]
            cells = cells._replace(costs=cells.costs + attribute.costs[level][attribute.leaves[cells.first]])
        found = self._settled(cells, len(vector))
        with self._guard:
            lower(self._found, found, places)

    def _settled(self, cells: Cells, nth: int) -> NDArray[np.float64]:
        """Return the least ratio of each cell and of those above it, with the levels of the first `nth` settled."""
        if nth == len(self._attributes):
            return ratios(cells, cells.costs, self._least, self._weights)
        number, left = promising(cells, self._attributes[nth].settled, self._least, self._weights)
        found = np.full(number.size, np.inf)
        if left.keys.size and not self._deadline.over():
            lower(found, self._raised(left, nth, 0), number)
        return found

    def _raised(self, cells: Cells, nth: int, level: int) -> NDArray[np.float64]:
        """Return the same for this level of the next attribute, and those above it."""
        attribute = self._attributes[nth]
        costs = cells.costs + attribute.costs[level][attribute.leaves[cells.first]]
        found = self._settled(cells._replace(costs=costs), nth + 1)
        if level + 1 < len(attribute.costs):
            known = cells._replace(reached=np.minimum(cells.reached, found))
            above, place = coarser(known, attribute.leaves, attribute.changes[level + 1], self._least, self._weights)
            lower(found, self._raised(above, nth, level + 1), place)
        return found
