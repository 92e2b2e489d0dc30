"""Clustering where models read sensitive values: classes are joined until each satisfies every model.

In: a problem whose models judge each class by itself, and in which the whole of what is recoded satisfies them. Out:
`Pieces`, whole tuples. Each tuple begins as a class. In rounds, the models say which classes fail; each of these looks
for the class in its block with which the loss rises least per record that is lacking less (`engine.kernels.joining`),
and the best pairs are joined. Where half as many fail as before, blocks are joined with near ones, so that what cannot
be had nearby is sought farther away, in the end in the whole table. Blocks are independent: threads share them.

Soria-Comas, Domingo-Ferrer, Sánchez, Martínez, t-closeness through microaggregation: strict privacy with enhanced
utility preservation. IEEE TKDE 27(11), 2015: clusters that are joined until they are close; here for every model of a
class, and each union chosen by what it costs and what it brings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.kernels.joining import Cells, Needs, join, lacks, nearest_pairs, partners
from engine.privacy.lack import Lack
from engine.search.problem import Problem
from engine.search.recoding.blocks import blocks_of
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.pieces import Pieces, at
from engine.search.recoding.splitting import failing_of
from engine.tables.counting.frequency import Classes
from engine.tables.counting.histogram import Histogram
from engine.tables.counting.present_classes import PresentClasses

_PART = 10
"""One in so many of the classes of a block that fail are joined in a round: the cheapest ones."""
_SOME = 0.5
"""Records that a class which fails lacks at least, whatever its lack says."""


def joined(problem: Problem, shape: Shape, looked: NDArray[np.int64], most: int, deadline: Deadline) -> Pieces | None:
    """Join the tuples of a problem to classes that satisfy every model; None if there is no time or no way.

    Parameters
    ----------
    looked : int64, shape (L,)
        Rows of the table that are recoded; the others are suppressed.
    most : int
        Tuples of a block.
    deadline : Deadline
    """
    rounds = _Rounds(problem, shape, blocks_of(problem, shape, looked, most, deadline), looked)
    while not deadline.over():
        failing = rounds.failing()
        if not failing.any():
            return rounds.pieces()
        if not rounds.run(failing, deadline):
            return None
    return None


class _Rounds:
    """The classes of a problem, those of a block behind each other."""

    def __init__(self, problem: Problem, shape: Shape, block: NDArray[np.int64], looked: NDArray[np.int64]) -> None:
        self._problem, self._shape = problem, shape
        self._table = problem.table
        order = np.argsort(block, kind="stable")
        self._rows, self._block = looked[order], block[order]
        leaves = np.ascontiguousarray(self._table.codes.T[self._rows])
        levels = np.repeat(shape.low[None, :], self._rows.size, axis=0)
        self._cells = Cells(
            leaves, levels, self._table.counts[self._rows].astype(np.float64), _costs(shape, leaves, levels)
        )
        self._of_row = np.arange(self._rows.size)
        self._goals: dict[int, int] = {}
        least = max(model.minimum_class_size for model in problem.models)
        self._attributes = [model.sensitive_attribute for model in problem.models if model.sensitive_attribute]
        self._lacks = [
            model.lack(self._table.sensitive[model.sensitive_attribute])
            for model in problem.models
            if model.sensitive_attribute
        ]
        totals = [self._table.sensitive[name].totals for name in self._attributes]
        self._needs = Needs(
            float(least),
            np.cumsum([one.weights.size for one in self._lacks]).astype(np.int64),
            np.concatenate([one.weights for one in self._lacks]),
            np.concatenate([of @ one.features / of.sum() for one, of in zip(self._lacks, totals, strict=True)]),
            np.array([one.allowed for one in self._lacks], np.float64),
            np.array([one.distinct for one in self._lacks], np.float64),
        )

    def failing(self) -> NDArray[np.bool_]:
        """Return which classes fail a model, shape (N,)."""
        # rows that are not recoded are one class more
        size = self._cells.sizes.size
        whole = np.full(self._table.counts.size, size, np.int32)
        whole[self._rows] = self._of_row
        self._classes = Classes(self._table, whole, size + 1)
        return failing_of(self._problem, PresentClasses.of(self._classes))[:size]

    def run(self, failing: NDArray[np.bool_], deadline: Deadline) -> bool:
        """Join pairs of classes in each block, or blocks; tell whether anything was joined."""
        begins = np.flatnonzero(np.diff(self._block, prepend=-1))
        ends = np.append(begins[1:], self._block.size)
        histograms = [self._classes.histogram(name) for name in self._attributes]

        def found(block: int) -> NDArray[np.int64]:
            begin, end = int(begins[block]), int(ends[block])
            if deadline.over():
                return np.empty((2, 0), np.int64)
            return begin + self._pairs(begin, end, failing[begin:end], histograms)

        wanted = np.add.reduceat(failing.astype(np.int64), begins).tolist()
        whole = begins.size == 1
        if not self._goals:
            self._goals = {block: number // 2 for block, number in enumerate(wanted)}
        looking = [block for block, number in enumerate(wanted) if number and (whole or number > self._goals[block])]
        pairs = [one for one in deadline.share(found, looking, self._problem.threads) if one.size]
        if pairs:
            self._join(np.concatenate(pairs, axis=1))
            return True
        if whole:
            return False
        self._join_blocks()
        return True

    def _pairs(
        self, begin: int, end: int, failing: NDArray[np.bool_], histograms: list[Histogram]
    ) -> NDArray[np.int64]:
        """Return pairs of classes of a block that are joined, shape (2, P): places in the block, each in one pair."""
        cells = _some(self._cells, slice(begin, end))
        sums = np.concatenate(
            [_sums(histogram, lack, begin, end) for histogram, lack in zip(histograms, self._lacks, strict=True)],
            axis=1,
        )
        seekers = np.flatnonzero(failing)
        lacking = np.where(failing, np.maximum(lacks(self._needs, sums, cells.sizes), _SOME), 0.0)
        chosen, rises = partners(self._shape, cells, self._needs, sums, lacking, seekers)
        taken = np.zeros(end - begin, np.bool_)
        pairs: list[tuple[int, int]] = []
        for place in np.argsort(rises, kind="stable").tolist():
            one, other = int(seekers[place]), int(chosen[place])
            if other < 0 or len(pairs) > seekers.size // _PART:
                break
            if not (taken[one] or taken[other]):
                taken[one] = taken[other] = True
                pairs.append((one, other))
        return np.array(pairs, np.int64).reshape(-1, 2).T

    def _join(self, pairs: NDArray[np.int64]) -> None:
        ones, others = np.ascontiguousarray(pairs)
        join(self._shape, self._cells, ones, others)
        left = np.ones(self._block.size, np.bool_)
        left[others] = False
        place = np.cumsum(left) - 1
        place[others] = place[ones]
        self._of_row = place[self._of_row]
        self._keep(np.flatnonzero(left))

    def _keep(self, order: NDArray[np.int64]) -> None:
        self._cells = _some(self._cells, order)
        self._block = self._block[order]

    def _join_blocks(self) -> None:
        """Join each block with the one that is nearest by the labels that all of its classes share."""
        begins = np.flatnonzero(np.diff(self._block, prepend=-1))
        place = np.cumsum(np.diff(self._block, prepend=-1) > 0) - 1
        number = begins.size
        # beside the classes one cell per block, into which they are joined
        both = _some(self._cells, np.concatenate([begins, np.arange(place.size)]))
        join(self._shape, both, place, number + np.arange(place.size))
        other = nearest_pairs(self._shape, _some(both, slice(number)))
        self._block = np.minimum(np.arange(number), other)[place]
        order = np.argsort(self._block, kind="stable")
        moved = np.empty_like(order)
        moved[order] = np.arange(order.size)
        self._of_row = moved[self._of_row]
        self._keep(order)
        self._goals = {}

    def pieces(self) -> Pieces:
        """Return the classes, all of whose labels are the lowest that their tuples share."""
        levels = self._cells.levels[self._of_row].astype(np.int8)
        return Pieces(self._rows, self._table.counts[self._rows], levels)


def _some(cells: Cells, which: slice | NDArray[np.int64]) -> Cells:
    return Cells(cells.leaves[which], cells.levels[which], cells.sizes[which], cells.costs[which])


def _sums(histogram: Histogram, lack: Lack, begin: int, end: int) -> NDArray[np.float64]:
    """Return the sums of features of the classes of a histogram from `begin` to `end`, shape (end - begin, F)."""
    offsets = histogram.offsets[begin : end + 1]
    entries = slice(int(offsets[0]), int(offsets[-1]))
    weighted = histogram.counts[entries, None] * lack.features[histogram.values[entries]]
    sums: NDArray[np.float64] = np.add.reduceat(weighted, offsets[:-1] - offsets[0], axis=0)
    return sums


def _costs(shape: Shape, leaves: NDArray[np.int32], levels: NDArray[np.int64]) -> NDArray[np.float64]:
    costs = np.zeros(leaves.shape[0])
    for a in range(leaves.shape[1]):
        costs += shape.costs[at(shape, a, levels[:, a], leaves[:, a])]
    return costs
