"""Exact search by branch and bound over boxes of the lattice: the default algorithm.

A box [low, high] stands for all transformations between two level vectors. Two facts about it are cheap:

- No transformation in it loses less than generalizing everything to `low` while suppressing what is already suppressed
  at `high`: a class of `high` is a union of classes of any of its specializations, so what must fail there fails
  everywhere in the box (predictive properties: Prasser, Kohlmayer, Kuhn, BMC Med Inform Decis Mak 16:49, 2016).
- If fixing one attribute at its lowest level and leaving the others at `high` already suppresses too much, or cannot
  beat the best solution, the attribute's lowest level can be raised.

A box is tightened by both until nothing changes, then split at the lowest level of one attribute. Depth first, so that
the open boxes stay few; the least bound among them is a proven lower bound at any moment.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.frequency import Classes
from engine.lattice.space import Lattice, Levels, replaced
from engine.search.algorithm import Problem, Progress, Solution, preference
from engine.search.check import Check, Checker
from engine.search.greedy import greedy, is_better
from engine.utility.information_loss import leading, original, ranked

_PROGRESS_SECONDS = 1.0
# Where a model is not monotone, a probe sees only part of what fails and rarely settles a layer: below this number of
# transformations it is cheaper to check each one that its bound does not rule out.
_SMALL_BOX = 256
# A bound and a loss are sums of the same terms in another order; this is far above their rounding and far below the
# 12 digits at which losses count as equal, so that rounding never prunes the preferred solution.
_SLACK = 1.0 - 1e-14

_Bound = tuple[float, ...]
"""A loss from below, ranked."""
_NO_BOUND: _Bound = (-math.inf,)


@dataclass(eq=False)
class _Box:
    """Transformations from `low` to `high`; `classes` is the partition at `high`, `bound` is for the whole box."""

    low: Levels
    high: Levels
    classes: Classes
    bound: _Bound
    probes: dict[int, _Probe] = field(default_factory=dict)


@dataclass(eq=False)
class _Probe:
    """The box's part in which one attribute is fixed at its lowest level."""

    level: int
    classes: Classes
    rows: NDArray[np.int64]
    suppressed: int
    bound: _Bound


def optimal(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`. Exact for every privacy model and every measure with a bound; stops at the time limit."""
    return _Search(problem, progress).run()


class _Search:
    def __init__(self, problem: Problem, progress: Progress | None) -> None:
        self._problem = problem
        self._progress = progress
        self._checker = Checker(problem)
        self._best: Check | None = None
        self._boxes: list[_Box] = []
        self._opened = 0
        self._solutions = 0

    def run(self) -> Solution | None:
        started = reported = time.monotonic()
        lattice = self._problem.lattice
        self._offer(greedy(self._checker, lattice))
        self._boxes.append(_Box(lattice.low, lattice.high, self._problem.table.partition(lattice.high), _NO_BOUND))
        while self._boxes:
            now = time.monotonic()
            if self._problem.time_limit is not None and now - started > self._problem.time_limit:
                break
            if self._progress is not None and now - reported > _PROGRESS_SECONDS:
                reported = now
                self._report(self._progress)
            box = self._boxes.pop()
            self._opened += 1
            if self._tighten(box):
                self._settle_or_split(box)
        return self._solution()

    def _settle_or_split(self, box: _Box) -> None:
        if box.low == box.high or (not self._checker.inherited and Lattice(box.low, box.high).size <= _SMALL_BOX):
            self._settle(box)
            return
        a, above = self._branch(box)
        probe = box.probes[a]
        lower = _Box(box.low, replaced(box.high, a, probe.level), probe.classes, probe.bound)
        upper = _Box(replaced(box.low, a, probe.level + 1), box.high, box.classes, above)
        self._boxes.extend([upper, lower] if lower.bound <= upper.bound else [lower, upper])

    def _settle(self, box: _Box) -> None:
        """Check the transformations of a box one by one, those that may lose least first."""
        rows, _ = self._checker.surely_suppressed(box.classes)
        levels = (range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))
        bounds = [(self._bound(node, node, rows), node) for node in itertools.product(*levels)]
        for bound, node in sorted(bounds):
            if not self._hopeless(bound, node):
                self._offer(self._checker.check(node))

    def _tighten(self, box: _Box) -> bool:
        """Shrink a box as far as it goes; False where it holds nothing better than the best solution."""
        while True:
            rows, suppressed = self._checker.surely_suppressed(box.classes)
            if suppressed > self._problem.limit:
                return False
            box.bound = max(box.bound, self._bound(box.low, box.high, rows))
            if self._hopeless(box.bound, box.low):
                return False
            if self._trim(box, rows):
                continue
            low = box.low
            if not self._raise(box):
                return False
            if box.low == low or not self._hopeful_after_raise(box, rows):
                return not self._hopeless(box.bound, box.low)

    def _hopeful_after_raise(self, box: _Box, rows: NDArray[np.int64]) -> bool:
        box.bound = max(box.bound, self._bound(box.low, box.high, rows))
        return not self._hopeless(box.bound, box.low)

    def _trim(self, box: _Box, rows: NDArray[np.int64]) -> bool:
        """Lower the highest levels that cannot beat the best solution, without looking at data."""
        high = box.high
        for a in range(len(high)):
            while high[a] > box.low[a]:
                low = replaced(box.low, a, high[a])
                if not self._hopeless(self._bound(low, high, rows), low):
                    break
                high = replaced(high, a, high[a] - 1)
        if high == box.high:
            return False
        for a, (new, old) in enumerate(zip(high, box.high, strict=True)):
            if new != old:
                box.classes = box.classes.refined(a, new)
        box.high = high
        box.probes.clear()
        return True

    def _raise(self, box: _Box) -> bool:
        """Raise lowest levels at which nothing can be found; False where that leaves nothing of the box."""
        for a in range(len(box.low)):
            while box.low[a] < box.high[a]:
                probe = self._probe(box, a)
                if probe.suppressed <= self._problem.limit and not self._hopeless(probe.bound, box.low):
                    break
                box.low = replaced(box.low, a, box.low[a] + 1)
        return not self._hopeless(box.bound, box.low)

    def _probe(self, box: _Box, a: int) -> _Probe:
        known = box.probes.get(a)
        if known is None or known.level != box.low[a]:
            classes = box.classes.refined(a, box.low[a])
            rows, suppressed = self._checker.surely_suppressed(classes)
            known = box.probes[a] = _Probe(box.low[a], classes, rows, suppressed, _NO_BOUND)
        if known.suppressed <= self._problem.limit:
            known.bound = self._bound(box.low, replaced(box.high, a, known.level), known.rows)
        return known

    def _branch(self, box: _Box) -> tuple[int, _Bound]:
        """Choose the attribute whose two halves become tightest; also return the bound of its upper half."""
        bound = box.bound[0]
        if not math.isfinite(bound):
            # no bound is known for the measure: any order is as good
            return next(a for a in box.probes if box.low[a] < box.high[a]), box.bound
        rows, suppressed = self._checker.surely_suppressed(box.classes)
        room = (leading(self._best.loss) if self._best and self._best.loss is not None else bound + 1.0) - bound
        best = (-1.0, 0, _NO_BOUND)
        for a, probe in box.probes.items():
            if box.low[a] == box.high[a]:
                continue
            above = max(box.bound, self._bound(replaced(box.low, a, probe.level + 1), box.high, rows))
            filled = (probe.suppressed - suppressed) / (self._problem.limit + 1)
            below = max((probe.bound[0] - bound) / room, filled) if room else 1.0
            gain = (below + 0.01) * ((above[0] - bound) / room + 0.01 if room else 1.0)
            best = max(best, (gain, -a, above))
        return -best[1], best[2]

    def _bound(self, low: Levels, high: Levels, rows: NDArray[np.int64]) -> _Bound:
        return ranked(self._problem.evaluator.bound(low, high, rows))

    def _hopeless(self, bound: _Bound, low: Levels) -> bool:
        """Whether nothing from `low` upwards with at least this loss is preferred to the best solution."""
        if self._best is None or self._best.loss is None:
            return False
        return preference(tuple(figure * _SLACK for figure in bound), low) >= preference(
            self._best.loss, self._best.levels
        )

    def _offer(self, check: Check | None) -> None:
        if check is not None and is_better(check, self._best):
            self._best = check
            self._solutions += 1

    def _lower_bound(self) -> _Bound:
        best = (math.inf,) if self._best is None or self._best.loss is None else ranked(self._best.loss)
        return min([best, *(box.bound for box in self._boxes)])

    def _report(self, progress: Progress) -> None:
        loss = None if self._best is None or self._best.loss is None else leading(self._best.loss)
        bound = self._lower_bound()[0]
        progress(
            {
                "solutions": self._solutions,
                "information_loss": loss if loss is not None and math.isfinite(loss) else None,
                "lower_bound": bound if math.isfinite(bound) else None,
                "boxes": self._opened,
                "open_boxes": len(self._boxes),
                "checked": self._checker.checked,
            }
        )

    def _solution(self) -> Solution | None:
        best = self._best
        if best is None or best.loss is None:
            return None
        bound = self._lower_bound()
        return Solution(
            levels=best.levels,
            suppressed_rows=best.rows,
            suppressed=best.suppressed,
            loss=best.loss,
            # no measure goes below 0; an infinite loss that is proven is its own bound
            lower_bound=original(tuple(max(figure, 0.0) for figure in bound), best.loss),
            optimal=not self._boxes,
            checked=self._checker.checked,
        )
