"""Top-down splitting: from the highest levels down, as long as every class satisfies every model.

LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity. ICDE 2006, on hierarchies: a class may be split by
one attribute into the labels one level below its own. Parts that fail stay together under the label that they had; if
these together fail as well, the class may not be split by this attribute. Of the attributes that it may be split by, it
takes the one that saves most loss. All classes are split at once, so the models judge each attribute's parts in one
pass over the tuples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.kernels.refine import refine
from engine.search.problem import Problem
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.pieces import at
from engine.tables.counting.frequency import Classes
from engine.tables.counting.present_classes import PresentClasses

_WHOLE = -1
"""The part of a class that stays under its label."""
_TINY = 1e-15
"""What a lower level saves at least, per record: an attribute without loss is split as well."""


class Split(NamedTuple):
    """Classes of a table that cannot be split further.

    Attributes
    ----------
    gid : int32, shape (R,)
        Class of each row.
    levels : int64, shape (C, m)
        Of each class.
    blocks : int64, shape (R,)
        The first class of at most as many tuples as asked for that each row was in, or its last one.
    """

    gid: NDArray[np.int32]
    levels: NDArray[np.int64]
    blocks: NDArray[np.int64]


class _Stand(NamedTuple):
    """The class of each row, the levels of each class ever made, and the rows whose classes may still be split."""

    gid: NDArray[np.int64]
    levels: NDArray[np.int64]
    active: NDArray[np.int64]


class Splitting:
    """The splitting of a problem's table.

    Parameters
    ----------
    problem : Problem
    shape : Shape
        Of its table.
    block : int
        Tuples of a block at most.
    apart : bool
        A class is split only if no part fails: then no label of one class is that of a record, or of a person, of
        another one.
    """

    def __init__(self, problem: Problem, shape: Shape, block: int, *, apart: bool = False) -> None:
        self._problem = problem
        self._shape = shape
        self._block = block
        self._table = problem.table
        self._apart = apart
        # people without a record would be known to be in no class
        refusing = any(model.refuses_empty_classes for model in problem.models)
        self._refuses_empty = refusing and max(model.minimum_class_size for model in problem.models) <= 1

    def run(self, gid: NDArray[np.int32], levels: NDArray[np.int64], deadline: Deadline) -> Split:
        """Split classes that satisfy every model, or must not be split, until none can be or the time has come.

        Parameters
        ----------
        gid : int32, shape (R,)
            Class of each row; -1 for a row that is not looked at.
        levels : int64, shape (C, m)
        deadline : Deadline
        """
        stand = _Stand(gid.astype(np.int64), levels, np.flatnonzero(gid >= 0))
        blocks = np.full(gid.size, -1, np.int64)
        while stand.active.size and not deadline.over():
            # an interrupt leaves the classes of the round before
            with deadline.interruptible():
                self._name(blocks, stand, stand.active)
                stand = self._round(stand)
        of_row, levels = stand.gid, stand.levels
        self._name(blocks, stand, np.flatnonzero(of_row >= 0), last=True)
        looked = of_row >= 0
        left, place = np.unique(of_row[looked], return_inverse=True)
        found = np.full(of_row.size, -1, np.int32)
        found[looked] = place
        return Split(found, levels[left], blocks)

    def _round(self, stand: _Stand) -> _Stand:
        """Split each class that can be."""
        of_row, levels, active = stand
        chosen, part = self._choose(of_row[active], levels, active)
        active, chosen, part = (array[chosen >= 0] for array in (active, chosen, part))
        if not active.size:
            return stand._replace(active=active)
        # parts of one class follow each other; the part that stays comes first
        pair, place = np.unique((of_row[active] << 32) | (part + 1), return_inverse=True)
        new = levels[pair >> 32]
        attribute = np.zeros(pair.size, np.int64)
        attribute[place] = chosen
        new[np.arange(pair.size), attribute] -= (pair & 0xFFFFFFFF) > 0
        after = of_row.copy()
        after[active] = levels.shape[0] + place
        return _Stand(after, np.concatenate([levels, new]), active)

    def _name(self, blocks: NDArray[np.int64], stand: _Stand, rows: NDArray[np.int64], *, last: bool = False) -> None:
        """Give the rows of classes that are small enough the name of their block."""
        waiting = rows[blocks[rows] < 0]
        small = np.bincount(stand.gid[waiting], minlength=stand.levels.shape[0]) <= self._block
        chosen = waiting if last else waiting[small[stand.gid[waiting]]]
        _, place = np.unique(stand.gid[chosen], return_inverse=True)
        blocks[chosen] = int(blocks.max(initial=-1)) + 1 + place

    def _choose(
        self, gid: NDArray[np.int64], levels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the attribute by which the class of each row is split, -1 for none, and the row's part."""
        _, place = np.unique(gid, return_inverse=True)
        dense: NDArray[np.int32] = place.astype(np.int32)
        size = int(dense.max()) + 1
        counts = self._table.counts[rows]
        most, chosen = np.zeros(size), np.full(size, -1, np.int64)
        parts = np.empty((len(self._table.attributes), rows.size), np.int64)
        for a in range(len(self._table.attributes)):
            leaves, level = self._table.codes[a][rows], levels[gid, a]
            lower = np.maximum(level - 1, self._shape.low[a])
            own, below = at(self._shape, a, level, leaves), at(self._shape, a, lower, leaves)
            codes = self._shape.labels[below]
            fails, allowed = self._judge(dense, size, codes, rows, int(self._shape.leaves[a]))
            parts[a] = np.where(fails, _WHOLE, codes)
            passes = ~fails & (level > self._shape.low[a])
            saved = np.where(passes, (self._shape.costs[own] - self._shape.costs[below] + _TINY) * counts, 0.0)
            gain = np.where(allowed, np.bincount(dense, weights=saved, minlength=size), 0.0)
            better = gain > most
            most[better], chosen[better] = gain[better], a
        of_row = chosen[dense]
        return of_row, parts[np.maximum(of_row, 0), np.arange(rows.size)]

    def _judge(
        self, dense: NDArray[np.int32], size: int, codes: NDArray[np.int32], rows: NDArray[np.int64], width: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return of each row whether its part fails, and of each class whether its failing parts together hold."""
        gid, number = refine(dense, size, np.ascontiguousarray(codes), np.arange(width, dtype=np.int32), width)
        fails = self._failing(gid, number, rows)[gid]
        allowed = np.ones(size, np.bool_)
        failing = np.unique(dense[fails])
        if self._apart:
            allowed[failing] = False
        elif failing.size:
            together = self._failing(np.searchsorted(failing, dense[fails]).astype(np.int32), failing.size, rows[fails])
            allowed[failing[together]] = False
        return fails, allowed

    def _failing(self, gid: NDArray[np.int32], number: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which classes of some rows fail a model, shape (number,)."""
        # the other rows are one class more
        whole = np.full(self._table.counts.size, number, np.int32)
        whole[rows] = gid
        classes = Classes(self._table, whole, number + 1)
        fails = failing_of(self._problem, PresentClasses.of(classes))
        if self._refuses_empty:
            fails |= classes.counts == 0
        return fails[:number]


def failing_of(problem: Problem, classes: PresentClasses) -> NDArray[np.bool_]:
    """Return which classes fail a model; a class without records does not, shape (C,)."""
    fails = np.zeros(classes.there.size, np.bool_)
    for model in problem.models:
        fails[classes.there] |= model.violated(classes)
    return fails
