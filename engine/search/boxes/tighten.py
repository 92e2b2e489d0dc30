"""Shrinking of a box: records that are suppressed in the whole box, and levels at which nothing better can be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.boxes import failing_rows, least_lost, small_classes
from engine.lattice.space import Levels, replaced
from engine.search.boxes.box import Node, Probe
from engine.search.boxes.box_rows import BoxRows
from engine.search.check import Checker
from engine.tables.counting.frequency import Classes
from engine.utility.bounds.box_costs import Bound, BoxCosts

# Dropping rows copies the others, so a small number of failing rows may stay.
_FEW = 0.05

_FIRST_LOOKS = 16
_LOOKS_PER_END = 8
"""Probes whose classes are looked into first, which takes several times as long; then if one in so many ended by it."""

RulesOut = Callable[[Bound, Levels], bool]
"""Whether nothing from some levels upwards with at least some loss is wanted."""


class _Judged(NamedTuple):
    """What every transformation of a box suppresses of its rows.

    Attributes
    ----------
    fails : bool, shape (C,)
        Classes of which it suppresses all records.
    rows, records : int
        In these classes.
    sums : float64, shape (parts,)
        The weights of their rows.
    inside : int
        Records of the other classes, at least.
    sums_inside : float64, shape (parts,)
        What these weigh, at least.
    looked : bool
        Whether the other classes were looked into.
    """

    fails: NDArray[np.bool_]
    rows: int
    records: int
    sums: NDArray[np.float64]
    inside: int
    sums_inside: NDArray[np.float64]
    looked: bool


class Tightener:
    """Tightens boxes of one problem, one at a time.

    Parameters
    ----------
    limit : int
        Records that may be suppressed.
    """

    def __init__(self, checker: Checker, costs: BoxCosts, rules_out: RulesOut, limit: int) -> None:
        self._checker = checker
        self._costs = costs
        self._rules_out = rules_out
        self._limit = limit
        self._looked = self._helped = 0

    def tighten(self, box: Node) -> bool:
        """Shrink a box as far as possible; False if it has no wanted transformation."""
        while True:
            if not self._suppress(box) or self._rules_out(box.bound, box.low):
                return False
            if self._trim(box):
                continue
            low = box.low
            if not self._raise(box):
                return False
            if box.low == low:
                return True
            box.roll_up(self._costs)
            self._rebound(box)
            if self._rules_out(box.bound, box.low):
                return False
            if not self._trim(box):
                return True

    def _suppress(self, box: Node) -> bool:
        """Find the records that are suppressed in the whole box; False if there are too many."""
        if not self._costs.adds:
            # the classes may have changed since, and weights of larger ones are too high for a base of smaller ones
            box.weigh(self._costs)
        found = self._judged(box.rows_of, box.weights, look=self._checker.looks_inside)
        if found is None:
            return False
        box.suppressed = box.gone_records + found.records + found.inside
        if box.suppressed > self._limit:
            return False
        extra = found.sums + found.sums_inside
        if self._checker.absorbs and found.rows > _FEW * box.gid.size:
            box.drop(self._costs, found.fails, found.sums)
            extra = found.sums_inside
        self._rebound(box, extra)
        return True

    def _judged(self, rows: BoxRows, weights: NDArray[np.float64], *, look: bool) -> _Judged | None:
        """Judge the classes of a box; None if nothing in it is a solution, even without the limit.

        Those that do not fail by themselves are looked into, unless what fails is too much already.
        """
        classes, gone = rows.classes, rows.gone.records
        if self._checker.sized:
            self._checker.checked += 1
            fails, ended = self._checker.too_small(classes), False
        else:
            fails, ended = self._checker.surely_fails(classes, gone)
        if ended:
            return None
        look = look and gone + int(classes.counts[fails].sum()) <= self._limit
        lost = self._lost_inside(classes, fails) if look else None
        number, records, sums = failing_rows(rows.gid, fails, rows.table.counts, weights)
        inside, sums_inside = 0, np.zeros(weights.shape[0])
        if lost is not None and lost.any():
            inside = int(lost.sum())
            if self._costs.weighs:
                sums_inside = least_lost(rows.gid, lost, rows.table.counts, weights)
        return _Judged(fails, int(number), int(records), sums, inside, sums_inside, look)

    def _lost_inside(self, classes: Classes, fails: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the records that the other classes lose at least, int64, shape (C,); those that lose all now fail."""
        others = ~fails
        sizes = classes.counts[others]
        kept = self._checker.most_kept(classes.merged(fails))[: sizes.size]
        lost = np.zeros(fails.size, np.int64)
        lost[others] = np.where(kept > 0, sizes - kept, 0)
        fails[others] = kept < np.minimum(sizes, 1)
        return lost

    def _rebound(self, box: Node, extra: NDArray[np.float64] | None = None) -> None:
        weighed = box.base if extra is None or not self._costs.weighs else box.base + extra
        box.bound = max(box.bound, self._costs.bound(weighed.tolist()))

    def _trim(self, box: Node) -> bool:
        """Lower the highest levels at which nothing is wanted, without reading data."""
        trimmed = False
        for a in box.free:
            high = box.high[a]
            while high > box.low[a]:
                above = max(box.bound, self._costs.above(box, box.base, a, high))
                if not self._rules_out(above, replaced(box.low, a, high)):
                    break
                high -= 1
            if high < box.high[a]:
                box.lower(self._costs, a, high)
                trimmed = True
        return trimmed

    def _raise(self, box: Node) -> bool:
        """Raise the lowest levels at which nothing can be found; False if this leaves nothing of the box."""
        for a in box.free:
            while box.low[a] < box.high[a]:
                probe = self._probe(box, a)
                if not self._is_out(probe, box):
                    break
                box.lift(self._costs, a, box.low[a] + 1)
                self._rebound(box)
        return not self._rules_out(box.bound, box.low)

    def _probe(self, box: Node, a: int) -> Probe:
        """Probe the part of the box in which an attribute is at its lowest level."""
        known = box.probes.get(a)
        if known is not None and known.level == box.low[a]:
            return known
        level = box.low[a]
        width = box.ladders.width(a, level)
        probe = None
        if self._checker.sized:
            self._checker.checked += 1
            records, sums = small_classes(
                box.gid, box.size, box.columns[a], width, box.counts, box.weights, box.minimum
            )
            probe = self._as_probe(box, level, int(records), sums)
        if probe is None or (self._is_worth_looking and not self._is_out(probe, box)):
            refined = box.rows_of.refined(a, box.up(a, level, level), width)
            found = self._judged(refined, box.weights, look=self._is_worth_looking)
            if found is None:
                probe = Probe(level, self._limit + 1, box.bound)
            else:
                probe = self._as_probe(box, level, found.records + found.inside, found.sums + found.sums_inside)
                self._looked += found.looked
                self._helped += found.looked and self._is_out(probe, box)
        box.probes[a] = probe
        return probe

    @property
    def _is_worth_looking(self) -> bool:
        """Whether to look inside the classes of a probe that their sizes do not end: it helped often enough."""
        return self._checker.looks_inside and (
            self._looked < _FIRST_LOOKS or self._helped * _LOOKS_PER_END >= self._looked
        )

    def _as_probe(self, box: Node, level: int, records: int, sums: NDArray[np.float64]) -> Probe:
        bound = box.bound
        if self._costs.weighs:
            bound = max(bound, self._costs.bound((box.base + sums).tolist()))
        return Probe(level, box.gone_records + records, bound)

    def _is_out(self, probe: Probe, box: Node) -> bool:
        return probe.suppressed > self._limit or self._rules_out(probe.bound, box.low)
