"""Shrinking of a box: records that are suppressed in the whole box, and levels at which nothing better can be found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.kernels.boxes import failing_rows, small_classes
from engine.kernels.refine import class_counts
from engine.lattice.space import Levels, replaced
from engine.search.boxes.box import Node, Probe
from engine.search.check import Checker
from engine.utility.bounds.box_costs import Bound, BoxCosts

# Dropping rows copies the others, so a small number of failing rows may stay.
_FEW = 0.05

RulesOut = Callable[[Bound, Levels], bool]
"""Whether nothing from some levels upwards with at least some loss is wanted."""


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
        fails = self._surely_fails(box)
        if fails is None:
            return False
        extra = None
        if not self._costs.adds:
            # the classes may have changed since
            box.base = self._costs.base(box)
        box.suppressed = box.gone_records
        if fails.any():
            rows, records, extra = failing_rows(box.gid, fails, box.counts, box.weights)
            box.suppressed += int(records)
            if box.suppressed > self._limit:
                return False
            if self._checker.absorbs and rows > _FEW * box.gid.size:
                box.drop(self._costs, fails, extra)
                extra = None
        self._rebound(box, extra)
        return True

    def _surely_fails(self, box: Node) -> NDArray[np.bool_] | None:
        """Return the classes that fail in the whole box; None if nothing in it is a solution."""
        if self._checker.sized:
            self._checker.checked += 1
            fails, ended = class_counts(box.gid, box.size, box.counts) < box.minimum, False
        else:
            fails, ended = self._checker.surely_fails(box.classes, box.gone_records)
        if ended:
            return None
        if self._checker.reaches:
            others = box.classes.merged(fails)
            fails[~fails] = self._checker.out_of_reach(others)[: fails.size - fails.sum()]
        return fails

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
                if probe.suppressed <= self._limit and not self._rules_out(probe.bound, box.low):
                    break
                box.lift(self._costs, a, box.low[a] + 1)
                self._rebound(box)
        return not self._rules_out(box.bound, box.low)

    def _probe(self, box: Node, a: int) -> Probe:
        """Probe the part of the box in which an attribute is at its lowest level."""
        known = box.probes.get(a)
        if known is not None and known.level == box.low[a]:
            return known
        records, sums = self._failing(box, a)
        bound = box.bound
        if self._costs.weighs:
            bound = max(bound, self._costs.bound((box.base + sums).tolist()))
        probe = box.probes[a] = Probe(box.low[a], box.gone_records + records, bound)
        return probe

    def _failing(self, box: Node, a: int) -> tuple[int, NDArray[np.float64]]:
        """Return records and weights of the rows that fail if an attribute is at its lowest level."""
        level = box.low[a]
        width = box.ladders.width(a, level)
        if self._checker.sized:
            self._checker.checked += 1
            records, sums = small_classes(
                box.gid, box.size, box.columns[a], width, box.counts, box.weights, box.minimum
            )
            return int(records), sums
        refined = box.rows_of.refined(a, box.up(a, level, level), width)
        fails, ended = self._checker.surely_fails(refined.classes, box.gone_records)
        _, records, sums = failing_rows(refined.gid, fails, box.counts, box.weights)
        return (self._limit + 1 if ended else int(records)), sums
