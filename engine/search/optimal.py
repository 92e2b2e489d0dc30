"""Exact search by branch and bound over boxes of the lattice: the default algorithm.

A box [low, high] stands for all transformations between two level vectors. Two facts about it are cheap:

- No transformation in it loses less than generalizing everything to `low` while suppressing what is already suppressed
  at `high`: a class of `high` is a union of classes of any of its specializations, so what must fail there fails
  everywhere in the box (predictive properties: Prasser, Kohlmayer, Kuhn, BMC Med Inform Decis Mak 16:49, 2016).
- If fixing one attribute at its lowest level and leaving the others at `high` already suppresses too much, or cannot
  beat the best solution, the attribute's lowest level can be raised.

A box is tightened by both until nothing changes (`tighten`), then split at the lowest level of one attribute. Depth
first, so that the open boxes stay few; the least bound among them is a proven lower bound at any moment.
"""

from __future__ import annotations

import itertools
import math
import threading
import time

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Lattice, Levels
from engine.search.algorithm import Problem, Progress, Solution, preference
from engine.search.box import NO_BOUND, Node
from engine.search.box_rows import Ladders, all_rows
from engine.search.check import Check, Checker
from engine.search.greedy import greedy, is_better
from engine.search.stealing import Pool
from engine.search.tighten import Tightener
from engine.utility.box_costs import Bound, BoxCosts
from engine.utility.information_loss import leading, original, ranked

_PROGRESS_SECONDS = 1.0
# Where a model is not monotone, a probe sees only part of what fails and rarely settles a layer: below this number of
# transformations it is cheaper to check each one that its bound does not rule out.
_SMALL_BOX = 16
# A bound and a loss are sums of the same terms in another order; this is far above their rounding.
_SLACK = 1.0 - 1e-11
# Losses further apart than this share of the best one are not equal, whatever their rounding.
_NEAR = 1e-9
_BOXES_BETWEEN_MEMORY_CHECKS = 64


def optimal(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`. Exact for every privacy model and every measure, unless the problem accepts a gap.

    It stops at the time limit or an interrupt with the best solution so far and a proven lower bound.
    """
    return _Search(problem, progress).run()


class Incumbent:
    """The best solution so far, shared by all threads."""

    def __init__(self, gap: float) -> None:
        self.best: Check | None = None
        self.solutions = 0
        self.given_up: Bound = (math.inf,)
        self._accepted = 1.0 - gap
        self._lock = threading.Lock()

    def offer(self, check: Check | None) -> None:
        """Keep a check if it is a solution that is preferred."""
        if check is None:
            return
        with self._lock:
            if is_better(check, self.best):
                self.best = check
                self.solutions += 1

    def rules_out(self, bound: Bound, low: Levels) -> bool:
        """Tell whether nothing from `low` upwards with at least this loss is preferred, or by less than the gap."""
        best = self.best
        if best is None or best.loss is None:
            return False
        loss = leading(best.loss)
        if self._accepted < 1.0 and math.isfinite(loss) and loss * self._accepted <= bound[0] < loss:
            with self._lock:
                self.given_up = min(self.given_up, bound)
            return True
        if abs(bound[0] - loss) > _NEAR * loss and math.isfinite(bound[0]):
            return bound[0] > loss
        return preference(tuple(figure * _SLACK for figure in bound), low) >= preference(best.loss, best.levels)


class _Search:
    def __init__(self, problem: Problem, progress: Progress | None) -> None:
        self._problem = problem
        self._progress = progress
        self._checkers = [Checker(problem)]
        self._checkers += [self._checkers[0].fork() for _ in range(1, problem.threads)]
        self._costs: BoxCosts = problem.evaluator.box_costs()
        self._ladders = Ladders(problem.table.hierarchies)
        self._incumbent = Incumbent(problem.gap)
        self._tighteners = [
            Tightener(checker, self._costs, self._incumbent.rules_out, problem.limit) for checker in self._checkers
        ]
        self._pool: Pool[Node] = Pool(problem.threads, self._open, self._pause)
        self._opened = 0
        self._settled = 0
        self._started = self._reported = time.monotonic()

    def run(self) -> Solution | None:
        if self._problem.start is not None:
            self._incumbent.offer(self._checkers[0].check(self._problem.start))
        self._incumbent.offer(greedy(self._checkers[0], self._problem))
        lattice = self._problem.lattice
        self._pool.run(self._box(lattice.low, lattice.high))
        return self._solution()

    def _box(self, low: Levels, high: Levels) -> Node:
        checker = self._checkers[0]
        rows = all_rows(
            self._problem.table, self._ladders, low, high, first=checker.orders, carried=self._costs.carried
        )
        box = Node(low, high, rows, self._ladders, checker.minimum, self._problem.limit)
        box.weigh(self._costs)
        box.roll_up(self._costs)
        return box

    def _open(self, thread: int, box: Node) -> list[Node]:
        """Tighten a box, then check it or split it."""
        self._opened += 1
        if self._opened % _BOXES_BETWEEN_MEMORY_CHECKS == 0:
            self._save_memory()
        if self._incumbent.rules_out(box.bound, box.low):
            return []
        if box.rows is None:
            low, high = box.levels
            made = self._box(low, high)
            made.bound = box.bound
            box = made
        box.finish(self._costs)
        if not self._tighteners[thread].tighten(box):
            return []
        inherited = self._checkers[thread].inherited
        if box.low == box.high or (not inherited and Lattice(box.low, box.high).size <= _SMALL_BOX):
            self._settle(thread, box)
            return []
        a, above = self._branch(box)
        probe = box.probes[a]
        lower = box.half(a, probe.level, probe.bound, lower=True)
        upper = box.half(a, probe.level + 1, above, lower=False)
        return [upper, lower] if lower.bound <= upper.bound else [lower, upper]

    def _save_memory(self) -> None:
        """Let go of the rows of boxes that wait longest; they are made again when their turn comes."""
        waiting = [box for box in self._pool.waiting() if box.rows is not None]
        sizes = {id(box.rows): box.bytes for box in waiting}
        total = sum(sizes.values())
        for box in waiting:
            if total <= self._problem.memory:
                return
            total -= sizes.pop(id(box.rows), 0)
            box.forget()

    def _settle(self, thread: int, box: Node) -> None:
        """Check the transformations of a box one by one, those that may lose least first."""
        checker = self._checkers[thread]
        self._settled += Lattice(box.low, box.high).size
        if box.low == box.high and checker.inherited:
            self._incumbent.offer(checker.check(box.low))
            return
        levels = (range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))
        nodes = [(self._floor(box, node), node) for node in itertools.product(*levels)]
        for floor, node in sorted(nodes):
            if not self._incumbent.rules_out(floor, node) and self._is_promising(checker, box, node):
                self._incumbent.offer(checker.check(node))

    def _floor(self, box: Node, levels: Levels) -> Bound:
        """Bound one transformation of a box without looking at data."""
        return max(box.bound, self._costs.floor(box, box.base, levels))

    def _is_promising(self, checker: Checker, box: Node, levels: Levels) -> bool:
        """Look at one transformation of a box by its rows; False where it is no solution or not preferred."""
        node = box.at(self._costs, levels)
        small = checker.too_small(node.classes)
        fails = small[node.gid]
        if not self._is_possible(node, fails, levels):
            return False
        # the larger classes are judged only where that may change the answer
        rest, classes = node.classes_without(small)
        fails[rest] = checker.fails(classes)[classes.gid]
        return self._is_possible(node, fails, levels)

    def _is_possible(self, node: Node, fails: NDArray[np.bool_], levels: Levels) -> bool:
        """Whether a transformation may be a solution that is preferred, if at least these rows are suppressed."""
        if node.gone_records + int(node.counts[fails].sum()) > self._problem.limit:
            return False
        return not self._incumbent.rules_out(self._costs.settled(node, node.base, node.weights, fails), levels)

    def _branch(self, box: Node) -> tuple[int, Bound]:
        """Choose the attribute whose two halves become tightest; also return the bound of its upper half."""
        bound = box.bound[0]
        best = self._incumbent.best
        room = (leading(best.loss) if best is not None and best.loss is not None else bound + 1.0) - bound
        choice = (-1.0, 0, NO_BOUND)
        for a in box.free:
            probe = box.probes[a]
            above = max(box.bound, self._costs.above(box, box.base, a, probe.level + 1))
            filled = (probe.suppressed - box.suppressed) / (self._problem.limit + 1)
            below = max((probe.bound[0] - bound) / room, filled) if room else 1.0
            gain = (below + 0.01) * ((above[0] - bound) / room + 0.01 if room else 1.0)
            choice = max(choice, (gain, -a, above))
        return -choice[1], choice[2]

    def _pause(self) -> bool:
        """Report between two boxes; say whether the time is over."""
        now = time.monotonic()
        limit = self._problem.time_limit
        if self._progress is not None and now - self._reported > _PROGRESS_SECONDS:
            self._reported = now
            self._report(self._progress)
        return limit is not None and now - self._started > limit

    def _lower_bound(self) -> Bound:
        best = self._incumbent.best
        loss = (math.inf,) if best is None or best.loss is None else ranked(best.loss)
        return min([loss, self._incumbent.given_up, *(box.bound for box in self._pool.items())])

    @property
    def _checked(self) -> int:
        return sum(checker.checked for checker in self._checkers)

    def _report(self, progress: Progress) -> None:
        best = self._incumbent.best
        loss = None if best is None or best.loss is None else leading(best.loss)
        bound = self._lower_bound()[0]
        known = loss is not None and math.isfinite(loss) and math.isfinite(bound)
        progress(
            {
                "solutions": self._incumbent.solutions,
                "information_loss": loss if loss is not None and math.isfinite(loss) else None,
                "lower_bound": bound if math.isfinite(bound) else None,
                "gap": (loss - bound) / loss if known and loss else None,
                "boxes": self._opened,
                "open_boxes": len(self._pool.items()),
                "checked": self._checked,
            }
        )

    def _solution(self) -> Solution | None:
        best = self._incumbent.best
        if best is None or best.loss is None:
            return None
        # no measure goes far below 0; an infinite loss that is proven is its own bound
        figures = zip(self._lower_bound(), ranked(best.loss), strict=False)
        bound = tuple(min(max(figure, 0.0), loss) for figure, loss in figures)
        return Solution(
            levels=best.levels,
            suppressed_rows=best.rows,
            suppressed=best.suppressed,
            loss=best.loss,
            lower_bound=original(bound, best.loss),
            optimal=not self._pool.items() and not math.isfinite(self._incumbent.given_up[0]),
            checked=self._checked,
            exhaustive=self._settled >= self._problem.lattice.size,
        )
