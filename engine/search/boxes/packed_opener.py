"""Boxes in which classes fail by their size alone and costs are sums over labels: the common case, in whole numbers.

In: a problem whose models are equivalent to a class size, and `LabelCosts` with one part. Out: boxes for `optimal`,
opened by `engine.kernels.packed_boxes`. Costs are counted in units of 2**-b of the loss, each rounded down, so bounds
are exact arithmetic and never above the loss of a transformation; b is the largest number for which all sums fit into
62 bits.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels.packed_boxes.opening import HALVES, LOWER, NOTHING, UPPER, WHOLE, Piece, open_piece
from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import (
    WORD,
    Bounds,
    Labels,
    PackedRows,
    Tuples,
    Waiting,
    all_waiting,
    no_rows,
    packed_tuples,
    size_of,
)
from engine.kernels.packed_boxes.savings import largest_savings
from engine.kernels.packed_boxes.splitting import ALL
from engine.kernels.packed_boxes.waiting import catch_up
from engine.lattice.space import Levels
from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.present_labels import PresentLabels
from engine.search.check import Checker
from engine.search.problem import Problem
from engine.utility.bounds.box_costs import Bound, BoxCosts
from engine.utility.bounds.label_costs import LabelCosts

_ROOM = 61
"""Bits of the largest sum of costs."""
_WORDS = 2
_LARGE = 100
"""A class waits if it has this many times the minimum class size."""
_RARE = 5
"""The fewer records may be suppressed, the larger it must be: this many times the minimum class size, divided by the
share of the records that may be. If none may be, one record that fails is enough, in any class."""
_AT_ONCE = 1 << 20
"""Rows of boxes that are opened one after the other before others get their turn, and the time limit its look."""
_LARGEST = (1 << 31) - 1
_LARGEST_UNIT = 1000
"""Binary exponent; products with it must remain doubles."""


@dataclass(eq=False)
class PackedBox:
    """A box of the lattice.

    Attributes
    ----------
    bound : Bound
        Lower bound of all transformations in it.
    low, high : Levels
    rows : PackedRows or None
        Those of the box, or of the one that `piece` is a half of. None where they were let go of to save memory.
    bounds : Bounds
        Of the same box as the rows.
    piece : Piece
        What of that box it is.
    waiting : Waiting or None
        Further rows; None if `rows` is.
    """

    bound: Bound
    low: Levels
    high: Levels
    rows: PackedRows | None
    bounds: Bounds
    piece: Piece
    waiting: Waiting | None = None

    @property
    def bytes(self) -> int:
        """Memory of the rows."""
        return sum(size_of(rows) for rows in (self.rows, self.waiting) if rows is not None)

    @property
    def is_one(self) -> bool:
        """Whether it was opened, and is one transformation."""
        return self.piece.at < 0 and self.low == self.high

    def forget(self) -> None:
        """Release the rows."""
        self.rows = self.waiting = None


class PackedOpener:
    """Opens boxes of one problem; see `engine.search.algorithms.optimal.Opener`.

    Attributes
    ----------
    opened : list of int
        Boxes that each thread opened.
    base : float
        What every transformation loses: the lowest levels of all attributes, rounded down.
    """

    def __init__(self, problem: Problem, checkers: list[Checker], costs: LabelCosts, incumbent: Incumbent) -> None:
        self._problem = problem
        self._checkers = checkers
        self._incumbent = incumbent
        self._minimum = checkers[0].minimum
        self._large = _large(self._minimum, problem.limit, problem.table.records)
        self.settled = 0
        self.opened = [0] * len(checkers)
        self._present = PresentLabels(problem.table)
        self._unit, self._labels, base, self._rises = _whole_numbers(problem, self._present, costs)
        self.base = self.loss(base)[0]
        self._tuples = self._packed()
        self._begin(base, self._rises.copy(), problem.lattice.low)

    @staticmethod
    def serves(problem: Problem, checker: Checker, costs: BoxCosts) -> bool:
        """Whether a problem is of this kind: by its models, its measure and its size."""
        if not (checker.sized and checker.inherited and problem.table.records <= _LARGEST):
            return False
        if type(costs) is not LabelCosts or not costs.is_linear or len(problem.lattice.low) > WORD:
            return False
        lowest = zip(problem.table.hierarchies, problem.lattice.low, strict=True)
        return _places([len(hierarchy.labels[level]) for hierarchy, level in lowest]) is not None

    def root(self) -> PackedBox:
        """Return the box of the whole lattice."""
        return self._root

    def open(self, thread: int, box: PackedBox) -> list[PackedBox]:
        """Open a box and those that follow from it; the one to continue with is the last."""
        checker, ceiling = self._checkers[thread], self._ceiling()
        left, rest, passes, opened = self.opened_piece(box, ceiling)
        checker.checked += passes
        self.opened[thread] += opened
        if left is None or opened > 1:
            self._incumbent.give_up(self.loss(ceiling + 1))
        found = [] if rest is None else [rest]
        if left is not None and left.is_one:
            self.settled += 1
            if not (self._incumbent.is_best(left.low) or self._incumbent.rules_out(left.bound, left.low)):
                self._incumbent.offer(checker.check(left.low))
        elif left is not None:
            found.append(left)
        return found

    def opened_piece(self, box: PackedBox, ceiling: int) -> tuple[PackedBox | None, PackedBox | None, int, int]:
        """Leave out of a box what costs more than the ceiling.

        Returns
        -------
        PackedBox or None
            What is left, one transformation or to be halved; None if nothing is.
        PackedBox or None
            A half that is still to be opened too.
        int, int
            Passes over the rows, and boxes that were opened.
        """
        bounds, piece = Bounds(*(array.copy() for array in box.bounds)), box.piece
        rows, waiting = box.rows, box.waiting
        if rows is None or waiting is None:
            rows, waiting = self._begun(bounds, box.low, box.high)
            piece = piece if piece.which == HALVES else piece._replace(which=WHOLE)
        most = _AT_ONCE // max(rows.counts.size + waiting.places.size, 1)
        of_table, of_problem = (self._tuples, self._start.low), (self._minimum, self._large, self._problem.limit)
        found = open_piece(rows, waiting, *of_table, bounds, piece, most, *of_problem, ceiling, self._labels)
        return self._box(*found[:4]), self._box(*found[4:8]), int(found[8]), int(found[9])

    def _box(self, rows: PackedRows, waiting: Waiting, bounds: Bounds, piece: Piece) -> PackedBox | None:
        which, a, below, above = piece
        if which == NOTHING:
            return None
        low, high = _levels(bounds.low), _levels(bounds.high)
        if which == LOWER:
            high = (*high[:a], low[a], *high[a + 1 :])
        elif which == UPPER:
            low = (*low[:a], low[a] + 1, *low[a + 1 :])
        return PackedBox(self.loss(min(below, above)), low, high, rows, bounds, piece, waiting)

    def with_shares(self, shares: NDArray[np.int64], whole: int) -> PackedOpener:
        """Return the same boxes where each attribute costs a share of what it does.

        Attributes without a share stay at their highest levels. Openers whose shares sum up to `whole` for each
        attribute have costs that, with `base`, sum up to no more than the cost of any transformation.

        Parameters
        ----------
        shares : int64, shape (m,)
            0 to `whole`.
        """
        found, problem, labels = copy.copy(self), self._problem, self._labels
        low, high = problem.lattice.low, problem.lattice.high
        bottom = tuple(x if share else y for share, x, y in zip(shares.tolist(), low, high, strict=True))
        more = np.zeros_like(labels.more)
        for a in range(shares.size):
            begin, end = labels.more_at[a, low[a]], labels.more_at[a, high[a]] + labels.widths[a, high[a]]
            more[begin:end] = labels.more[begin:end] // whole * shares[a]
        savings = largest_savings(
            np.array(low), np.array(high), labels.widths, more, labels.more_at, labels.ups, labels.ups_at
        )
        found.take(labels._replace(more=more, savings=savings), self._rises // whole * shares[:, None], bottom)
        return found

    def take(self, labels: Labels, rises: NDArray[np.int64], bottom: Levels) -> None:
        """Replace the costs of labels and of levels, and the lowest levels."""
        self._labels = labels
        self._begin(0, rises, bottom)

    def _begun(self, bounds: Bounds, low: Levels, high: Levels) -> tuple[PackedRows, Waiting]:
        """Make the rows of a box out of the tuples of the table."""
        for mine, first in zip(bounds, self._start, strict=True):
            mine[...] = first
        waiting, rows = all_waiting(self._tuples, bounds.high), no_rows(self._tuples)
        bounds.high[:] = high
        raise_rows(rows, bounds, np.array(low), self._minimum, self._labels)
        tuples, bottom, limit = self._tuples, self._start.low, self._problem.limit
        return catch_up(rows, waiting, tuples, bottom, bounds, self._minimum, self._large, limit, self._labels)

    def loss(self, cost: int) -> Bound:
        """Return a cost as a loss, rounded down."""
        return (math.nextafter(cost / self._unit, -math.inf),)

    def _ceiling(self) -> int:
        """Return the largest cost that may still be preferred."""
        loss = self._incumbent.unwanted
        # every sum is below: nothing is ruled out
        return (1 << 62) if loss >= 2.0 ** (_ROOM + 1) / self._unit else math.ceil(loss * self._unit)

    def _packed(self) -> Tuples:
        table, labels, low = self._problem.table, self._labels, self._problem.lattice.low
        firsts = np.zeros((len(low), max(hierarchy.codes.shape[1] for hierarchy in table.hierarchies)), np.int32)
        for a, hierarchy in enumerate(table.hierarchies):
            leaves = hierarchy.codes.shape[1]
            firsts[a, :leaves] = self._present.of_leaves(a, low[a], leaves)
        words = int(labels.places[:, 0].max()) + 1
        return packed_tuples(table.codes, table.counts, firsts, labels, words)

    def _begin(self, base: int, rises: NDArray[np.int64], bottom: Levels) -> None:
        """Make the box of the whole lattice above some levels, and keep what is known before any class is split."""
        low, high = self._problem.lattice.low, self._problem.lattice.high
        # one class, as above the highest levels
        beyond = np.array(high) + (self._labels.widths[np.arange(len(high)), high] > 1)
        self._start = Bounds(np.array(low), beyond, np.array([base, 0]), rises, np.full((len(low), 3), -1))
        bounds = Bounds(*(array.copy() for array in self._start))
        rows, waiting = self._begun(bounds, bottom, high)
        least = int(bounds.sums[0])
        self._root = PackedBox(self.loss(least), bottom, high, rows, bounds, Piece(WHOLE, -1, least, least), waiting)


def _large(minimum: int, limit: int, records: int) -> int:
    """Return the number of records from which a class waits."""
    return max(_LARGE * minimum, _RARE * minimum * records // limit) if limit else int(ALL)


def _levels(levels: NDArray[np.int64]) -> Levels:
    return tuple(levels.tolist())


def _places(widths: Sequence[int]) -> NDArray[np.int64] | None:
    """Give the code of each attribute its word, bit and number of bits, shape (m, 3); None if there is no room.

    Parameters
    ----------
    widths : sequence of int, m of them
        Labels of the lowest level.
    """
    places = np.zeros((len(widths), 3), np.int64)
    word = begin = 0
    for a, width in enumerate(widths):
        bits = (width - 1).bit_length()
        if begin + bits > WORD - 1:
            word, begin = word + 1, 0
        places[a] = word, begin, bits
        begin += bits
    return places if word < _WORDS else None


def _whole_numbers(
    problem: Problem, present: PresentLabels, costs: LabelCosts
) -> tuple[float, Labels, int, NDArray[np.int64]]:
    """Return the units of a loss of 1, the labels, and the cost at the lowest levels with its rises."""
    (low, high), records = (problem.lattice.low, problem.lattice.high), problem.table.records
    attributes, levels = len(low), max(high) + 2
    dearest = [max((float(more.max()) for more in by_level), default=0.0) for by_level in costs.more] or [0.0]
    most = math.fsum(float(total.max()) for total in costs.totals) + records * math.fsum(dearest)
    unit = 2.0 ** min(math.floor(_ROOM - math.log2(most)), _LARGEST_UNIT) if most > 0 else 1.0
    more, more_at = [np.zeros(1, np.int64)], np.zeros((attributes, levels), np.int64)
    # entries without a label are 0: at the level above the highest, where all are one class
    lowest = [present.width(a, level) for a, level in enumerate(low)]
    ups, ups_at = [np.zeros(max(lowest), np.int32)], np.zeros((attributes, levels, levels), np.int64)
    widths = np.ones((attributes, levels), np.int64)
    rises = np.zeros((attributes, levels), np.int64)
    base, more_end, ups_end = 0, 1, max(lowest)
    for a in range(attributes):
        totals = _rounded_down(costs.totals[a], unit, problem.table.hierarchies[a].codes.shape[1])
        base += int(totals[low[a]])
        rises[a, : high[a] + 1] = totals[: high[a] + 1] - totals[low[a]]
        for level in range(low[a], high[a] + 1):
            widths[a, level] = present.width(a, level)
            extra = costs.more[a][level][present.labels(a, level)] if costs.more else np.zeros(widths[a, level])
            # a difference of two costs is as exact as the larger one
            more.append(_rounded_down(extra, unit, 4, slack=4 * unit * dearest[a if costs.more else 0]))
            more_at[a, level] = more_end
            more_end += more[-1].size
            for above in range(level, high[a] + 1):
                ups.append(present.up(a, level, above))
                ups_at[a, level, above] = ups_end
                ups_end += ups[-1].size
    places = _places(lowest)
    assert places is not None  # noqa: S101 (see `serves`)
    masks = (np.uint64(1) << places[:, 2].astype(np.uint64)) - np.uint64(1)
    of_labels = widths, np.concatenate(more), more_at, np.concatenate(ups), ups_at
    savings = largest_savings(np.array(low), np.array(high), *of_labels)
    return unit, Labels(np.ascontiguousarray(places[:, :2]), masks, *of_labels, savings), base, rises


def _rounded_down(costs: NDArray[np.float64], unit: float, terms: int, slack: float = 0.0) -> NDArray[np.int64]:
    """Return costs, sums of this many doubles, as whole numbers that are not larger, at least 0."""
    rounding = (terms + 4) * np.finfo(np.float64).eps
    return np.maximum(np.floor((costs * (1.0 - rounding)) * unit - slack * rounding), 0.0).astype(np.int64)
