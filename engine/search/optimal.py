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

import numpy as np
from numpy.typing import NDArray

from engine.kernels.boxes import failing_rows, small_classes
from engine.kernels.refine import class_counts
from engine.lattice.space import Lattice, Levels, replaced
from engine.search.algorithm import Problem, Progress, Solution, preference
from engine.search.box import NO_BOUND, Node, Probe
from engine.search.box_rows import Ladders, all_rows
from engine.search.check import Check, Checker
from engine.search.greedy import greedy, is_better
from engine.utility.box_costs import Bound
from engine.utility.information_loss import leading, original, ranked

_PROGRESS_SECONDS = 1.0
# Where a model is not monotone, a probe sees only part of what fails and rarely settles a layer: below this number of
# transformations it is cheaper to check each one that its bound does not rule out.
_SMALL_BOX = 16
# A bound and a loss are sums of the same terms in another order; this is far above their rounding and far below the
# 12 digits at which losses count as equal, so that rounding never prunes the preferred solution.
_SLACK = 1.0 - 1e-11
# Losses further apart than this share of the best one are not equal, whatever their rounding.
_NEAR = 1e-9
# Dropping rows copies the others: so few that are known to fail may stay among them.
_FEW = 0.05


def optimal(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`. Exact for every privacy model and every measure; stops at the time limit."""
    return _Search(problem, progress).run()


class _Search:
    def __init__(self, problem: Problem, progress: Progress | None) -> None:
        self._problem = problem
        self._progress = progress
        self._checker = Checker(problem)
        self._costs = problem.evaluator.box_costs()
        self._ladders = Ladders(problem.table.hierarchies)
        self._best: Check | None = None
        self._boxes: list[Node] = []
        self._opened = 0
        self._solutions = 0

    def run(self) -> Solution | None:
        started = reported = time.monotonic()
        self._offer(greedy(self._checker, self._problem))
        self._boxes.append(self._root())
        while self._boxes:
            now = time.monotonic()
            if self._problem.time_limit is not None and now - started > self._problem.time_limit:
                break
            if self._progress is not None and now - reported > _PROGRESS_SECONDS:
                reported = now
                self._report(self._progress)
            box = self._boxes.pop()
            self._opened += 1
            if self._hopeless(box.bound, box.low):
                continue
            box.settle_half(self._costs)
            if self._tighten(box):
                self._settle_or_split(box)
        return self._solution()

    def _root(self) -> Node:
        lattice = self._problem.lattice
        first = self._checker.orders
        rows = all_rows(self._problem.table, self._ladders, lattice.low, lattice.high, first=first)
        root = Node(lattice.low, lattice.high, rows, self._ladders, self._checker.minimum)
        root.weigh(self._costs)
        root.roll_up(self._costs)
        return root

    def _tighten(self, box: Node) -> bool:
        """Shrink a box as far as it goes; False where it holds nothing better than the best solution."""
        while True:
            if not self._suppress(box) or self._hopeless(box.bound, box.low):
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
            if self._hopeless(box.bound, box.low):
                return False
            if not self._trim(box):
                return True

    def _suppress(self, box: Node) -> bool:
        """Find what is suppressed in all of the box; False if that is too much."""
        limit = self._problem.limit
        if self._checker.sized:
            self._checker.checked += 1
            fails, ended = class_counts(box.gid, box.size, box.counts) < box.minimum, False
        else:
            fails, ended = self._checker.surely_fails(box.rows.classes)
        if ended:
            return False
        extra = None
        box.suppressed = box.gone_records
        if fails.any():
            records, extra = failing_rows(box.gid, fails, box.counts, box.weights)
            box.suppressed += int(records)
            if box.suppressed > limit:
                return False
            if self._checker.absorbs and int(records) and fails[box.gid].sum() > _FEW * box.gid.size:
                box.drop(self._costs, fails, extra)
                extra = None
        self._rebound(box, extra)
        return True

    def _rebound(self, box: Node, extra: NDArray[np.float64] | None = None) -> None:
        if self._costs is None:
            return
        weighed = box.base if extra is None or not self._costs.weighs else box.base + extra
        box.bound = max(box.bound, self._costs.bound(weighed.tolist()))

    def _trim(self, box: Node) -> bool:
        """Lower the highest levels that cannot beat the best solution, without looking at data."""
        if self._costs is None:
            return False
        trimmed = False
        for a in box.free:
            high = box.high[a]
            while high > box.low[a]:
                low = replaced(box.low, a, high)
                if not self._hopeless(max(box.bound, self._costs.above(box, box.base, a, high)), low):
                    break
                high -= 1
            if high < box.high[a]:
                box.lower(self._costs, a, high)
                trimmed = True
        return trimmed

    def _raise(self, box: Node) -> bool:
        """Raise lowest levels at which nothing can be found; False where that leaves nothing of the box."""
        for a in box.free:
            while box.low[a] < box.high[a]:
                probe = self._probe(box, a)
                if probe.suppressed <= self._problem.limit and not self._hopeless(probe.bound, box.low):
                    break
                box.lift(self._costs, a, box.low[a] + 1)
                self._rebound(box)
        return not self._hopeless(box.bound, box.low)

    def _probe(self, box: Node, a: int) -> Probe:
        known = box.probes.get(a)
        if known is not None and known.level == box.low[a]:
            return known
        level = box.low[a]
        width = self._ladders.width(a, level)
        if self._checker.sized:
            self._checker.checked += 1
            records, sums = small_classes(
                box.gid, box.size, box.columns[a], width, box.counts, box.weights, box.minimum
            )
        else:
            refined = box.rows.refined(a, self._ladders.up(a, level, level), width)
            fails, ended = self._checker.surely_fails(refined.classes)
            records, sums = failing_rows(refined.gid, fails, box.counts, box.weights)
            records = np.int64(self._problem.limit + 1) if ended else records
        bound = box.bound
        if self._costs is not None and self._costs.weighs:
            bound = max(bound, self._costs.bound((box.base + sums).tolist()))
        probe = box.probes[a] = Probe(level, box.gone_records + int(records), bound)
        return probe

    def _settle_or_split(self, box: Node) -> None:
        if box.low == box.high or (not self._checker.inherited and Lattice(box.low, box.high).size <= _SMALL_BOX):
            self._settle(box)
            return
        a, above = self._branch(box)
        probe = box.probes[a]
        lower = box.half(a, probe.level, probe.bound, lower=True)
        upper = box.half(a, probe.level + 1, above, lower=False)
        self._boxes.extend([upper, lower] if lower.bound <= upper.bound else [lower, upper])

    def _settle(self, box: Node) -> None:
        """Check the transformations of a box one by one, those that may lose least first."""
        if box.low == box.high and self._checker.inherited:
            self._offer(self._checker.check(box.low))
            return
        levels = (range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))
        nodes = [(self._floor(box, node), node) for node in itertools.product(*levels)]
        for floor, node in sorted(nodes):
            if not self._hopeless(floor, node) and self._is_promising(box, node):
                self._offer(self._checker.check(node))

    def _floor(self, box: Node, levels: Levels) -> Bound:
        """Bound one transformation of a box without looking at data."""
        if self._costs is None:
            return NO_BOUND
        return max(box.bound, self._costs.floor(box, box.base, levels))

    def _is_promising(self, box: Node, levels: Levels) -> bool:
        """Look at one transformation of a box by its rows; False where it is no solution or not preferred."""
        node = box.half(0, 0, box.bound, lower=True)
        node.pending = None
        for a, level in enumerate(levels):
            if level > node.low[a]:
                node.lift(self._costs, a, level)
        for a in node.free:
            node.lower(self._costs, a, node.low[a])
        small = self._checker.too_small(node.rows.classes)
        fails = small[node.gid]
        if not self._is_possible(node, fails, levels):
            return False
        # the larger classes are judged only where that may change the answer
        rest, classes = node.rows.classes_without(small)
        fails[rest] = self._checker.fails(classes)[classes.gid]
        return self._is_possible(node, fails, levels)

    def _is_possible(self, node: Node, fails: NDArray[np.bool_], levels: Levels) -> bool:
        """Whether a transformation may be a solution that is preferred, if at least these rows are suppressed."""
        if node.gone_records + int(node.counts[fails].sum()) > self._problem.limit:
            return False
        if self._costs is None:
            return True
        return not self._hopeless(self._costs.settled(node, node.base, node.weights, fails), levels)

    def _branch(self, box: Node) -> tuple[int, Bound]:
        """Choose the attribute whose two halves become tightest; also return the bound of its upper half."""
        bound = box.bound[0]
        if self._costs is None or not math.isfinite(bound):
            # no bound is known for the measure: any order is as good
            return box.free[0], box.bound
        room = (leading(self._best.loss) if self._best and self._best.loss is not None else bound + 1.0) - bound
        best = (-1.0, 0, NO_BOUND)
        for a in box.free:
            probe = box.probes[a]
            above = max(box.bound, self._costs.above(box, box.base, a, probe.level + 1))
            filled = (probe.suppressed - box.suppressed) / (self._problem.limit + 1)
            below = max((probe.bound[0] - bound) / room, filled) if room else 1.0
            gain = (below + 0.01) * ((above[0] - bound) / room + 0.01 if room else 1.0)
            best = max(best, (gain, -a, above))
        return -best[1], best[2]

    def _hopeless(self, bound: Bound, low: Levels) -> bool:
        """Whether nothing from `low` upwards with at least this loss is preferred to the best solution."""
        if self._best is None or self._best.loss is None:
            return False
        best = leading(self._best.loss)
        if abs(bound[0] - best) > _NEAR * best and math.isfinite(bound[0]):
            return bound[0] > best
        return preference(tuple(figure * _SLACK for figure in bound), low) >= preference(
            self._best.loss, self._best.levels
        )

    def _offer(self, check: Check | None) -> None:
        if check is not None and is_better(check, self._best):
            self._best = check
            self._solutions += 1

    def _lower_bound(self) -> Bound:
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
