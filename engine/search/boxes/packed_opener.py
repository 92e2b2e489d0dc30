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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.packed_boxes.opening import LOWER, UPPER, WHOLE, open_box
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
from engine.kernels.packed_boxes.tightening import tightest_halves
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
_LARGE = 200
"""A class waits if it has this many times the minimum class size."""
_RARE = 5
"""The fewer records may be suppressed, the larger it must be: this many times the minimum class size, divided by the
share of the records that may be. If none may be, one record that fails is enough, in any class."""
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
        None where they were let go of to save memory.
    bounds : Bounds
    half : tuple of int
        The step that makes a half of the parent box, if it is still to be done, as `open_box` takes it: `LOWER` or
        `UPPER`, and the attribute.
    waiting : Waiting or None
        Further rows; None if `rows` is.
    """

    bound: Bound
    low: Levels
    high: Levels
    rows: PackedRows | None
    bounds: Bounds
    half: tuple[int, int] = (WHOLE, 0)
    waiting: Waiting | None = None

    @property
    def bytes(self) -> int:
        """Memory of the rows."""
        return sum(size_of(rows) for rows in (self.rows, self.waiting) if rows is not None)

    def forget(self) -> None:
        """Release the rows."""
        self.rows = self.waiting = None


class Tight(NamedTuple):
    """What is left of a box that was tightened, with the bounds that `open_box` gives."""

    rows: PackedRows
    bounds: Bounds
    waiting: Waiting
    least: int
    staying: NDArray[np.int64]
    rising: NDArray[np.int64]

    @property
    def is_one(self) -> bool:
        """Whether it is one transformation."""
        return bool((self.bounds.low == self.bounds.high).all())


class PackedOpener:
    """Opens boxes of one problem; see `engine.search.algorithms.optimal.Opener`.

    Attributes
    ----------
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
        """Tighten a box, then check it or halve it; the half to continue with is the last."""
        checker, ceiling = self._checkers[thread], self._ceiling()
        tight, passes = self.tightened(box, ceiling)
        checker.checked += passes
        if tight is None:
            self._incumbent.give_up(self.loss(ceiling + 1))
            return []
        low = _levels(tight.bounds.low)
        if tight.is_one:
            self.settled += 1
            if not self._incumbent.rules_out(self.bound(box, tight), low):
                self._incumbent.offer(checker.check(low))
            return []
        return self.halves(box, tight, ceiling)

    def tightened(self, box: PackedBox, ceiling: int) -> tuple[Tight | None, int]:
        """Leave out of a box what costs more than the ceiling; None if that is all of it. Count the passes."""
        bounds = Bounds(*(array.copy() for array in box.bounds))
        if box.rows is None or box.waiting is None:
            (rows, waiting), half = self._begun(bounds, box.low, box.high), (WHOLE, 0)
        else:
            rows, waiting, half = box.rows, box.waiting, box.half
        of_table, of_problem = (self._tuples, self._start.low), (self._minimum, self._large, self._problem.limit)
        alive, rows, waiting, least, staying, rising, passes = open_box(
            rows, waiting, *of_table, bounds, *half, *of_problem, ceiling, self._labels
        )
        return (Tight(rows, bounds, waiting, int(least), staying, rising) if alive else None), int(passes)

    def halves(self, box: PackedBox, tight: Tight, ceiling: int) -> list[PackedBox]:
        """Split a box that was tightened; the half to continue with is the last."""
        rows, bounds, waiting, _, staying, rising = tight
        low, high = _levels(bounds.low), _levels(bounds.high)
        here, limit = self.bound(box, tight), self._problem.limit
        a = int(tightest_halves(bounds, limit, ceiling))
        below = max(here, self.loss(int(max(bounds.probes[a, 2], staying[a]))))
        above = max(here, self.loss(int(max(bounds.sums[0] + bounds.rises[a, low[a] + 1], rising[a, low[a] + 1]))))
        lower = PackedBox(below, low, (*high[:a], low[a], *high[a + 1 :]), rows, bounds, (LOWER, a), waiting)
        upper = PackedBox(above, (*low[:a], low[a] + 1, *low[a + 1 :]), high, rows, bounds, (UPPER, a), waiting)
        return [upper, lower] if below <= above else [lower, upper]

    def bound(self, box: PackedBox, tight: Tight) -> Bound:
        """Bound what is left of a box."""
        return max(box.bound, self.loss(tight.least))

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
        self._root = PackedBox(self.loss(int(bounds.sums[0])), bottom, high, rows, bounds, waiting=waiting)


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
