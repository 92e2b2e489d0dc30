"""Boxes of every kind: any privacy models, any measure. A box is tightened, then checked or halved.

In: boxes as `Node`s. Out: their halves, and solutions offered to the incumbent. If a model is not monotone, a small box
is finished by checking each transformation that the bound does not rule out.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Lattice, Levels
from engine.search.boxes.box import Node
from engine.search.boxes.box_rows import Ladders, all_rows
from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.tighten import Tightener
from engine.search.check import Checker
from engine.search.problem import Problem
from engine.utility.bounds.box_costs import Bound, BoxCosts
from engine.utility.information_loss import leading

# Where a model is not monotone, a probe sees only part of what fails and rarely settles a layer: below this number of
# transformations it is cheaper to check each one that its bound does not rule out.
_SMALL_BOX = 16


class NodeOpener:
    """Opens boxes of one problem; see `engine.search.algorithms.optimal.Opener`."""

    def __init__(self, problem: Problem, checkers: list[Checker], costs: BoxCosts, incumbent: Incumbent) -> None:
        self._problem = problem
        self._checkers = checkers
        self._costs = costs
        self._incumbent = incumbent
        self._ladders = Ladders(problem.table.hierarchies)
        self._tighteners = [Tightener(checker, costs, incumbent.rules_out, problem.limit) for checker in checkers]
        self.settled = 0
        self.opened = [0] * len(checkers)

    def root(self) -> Node:
        """Return the box of the whole lattice."""
        return self._box(self._problem.lattice.low, self._problem.lattice.high)

    def open(self, thread: int, box: Node) -> list[Node]:
        """Tighten a box, then check it or halve it; the half to continue with is the last."""
        self.opened[thread] += 1
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
        probe = box.probed(a)
        lower = box.half(a, probe.level, probe.bound, lower=True)
        upper = box.half(a, probe.level + 1, above, lower=False)
        return [upper, lower] if lower.bound <= upper.bound else [lower, upper]

    def _box(self, low: Levels, high: Levels) -> Node:
        checker = self._checkers[0]
        rows = all_rows(
            self._problem.table, self._ladders, low, high, first=checker.orders, carried=self._costs.carried
        )
        box = Node(low, high, rows, self._ladders, checker.minimum, self._problem.limit)
        box.weigh(self._costs)
        box.roll_up(self._costs)
        return box

    def _settle(self, thread: int, box: Node) -> None:
        """Check the transformations of a box one by one, those that may lose least first."""
        checker = self._checkers[thread]
        self.settled += Lattice(box.low, box.high).size
        if box.low == box.high and checker.inherited:
            self._incumbent.offer(checker.check(box.low))
            return
        levels = (range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))
        nodes = [(self._floor(box, node), node) for node in itertools.product(*levels)]
        for floor, node in sorted(nodes):
            if not self._incumbent.rules_out(floor, node) and self._is_promising(checker, box, node):
                self._incumbent.offer(checker.check(node))

    def _floor(self, box: Node, levels: Levels) -> Bound:
        """Bound one transformation of a box without reading data."""
        return max(box.bound, self._costs.floor(box, box.base, levels))

    def _is_promising(self, checker: Checker, box: Node, levels: Levels) -> bool:
        """Check one transformation of a box by its rows; False if it is no solution or not preferred."""
        node = box.at(self._costs, levels)
        small = checker.too_small(node.classes)
        fails = small[node.gid]
        if not self._is_possible(node, fails, levels):
            return False
        # the larger classes are judged only if that may change the answer
        classes = node.classes.merged(small)
        failing = checker.fails(classes)
        # the small ones are the last class
        failing[small.size - small.sum() :] = False
        if checker.rejects_large and checker.is_large(classes, failing):
            return False
        return self._is_possible(node, fails | failing[classes.gid], levels)

    def _is_possible(self, node: Node, fails: NDArray[np.bool_], levels: Levels) -> bool:
        """Whether a transformation may be a preferred solution, if at least these rows are suppressed."""
        if node.gone_records + int(node.counts[fails].sum()) > self._problem.limit:
            return False
        return not self._incumbent.rules_out(self._costs.settled(node, node.base, node.weights, fails), levels)

    def _branch(self, box: Node) -> tuple[int, Bound]:
        """Choose the attribute with the tightest two halves; also return the bound of its upper half."""
        bound, best = box.bound[0], self._incumbent.best
        room = (leading(best.loss) if best is not None and best.loss is not None else bound + 1.0) - bound
        choices = []
        for a in box.free:
            probe = box.probed(a)
            above = max(box.bound, self._costs.above(box, box.base, a, probe.level + 1))
            filled = (probe.suppressed - box.suppressed) / (self._problem.limit + 1)
            below = max(_share(probe.bound[0] - bound, room), filled)
            choices.append(((below + 0.01) * (_share(above[0] - bound, room) + 0.01), -a, above))
        _, attribute, above = max(choices)
        return -attribute, above


def _share(gain: float, room: float) -> float:
    """Return how much of the distance to the best loss a half gains; 1 where there is none."""
    return gain / room if 0.0 < room < math.inf and gain < math.inf else 1.0
