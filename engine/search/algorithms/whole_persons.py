"""Exact search where persons are suppressed with all their records: `optimal` if attackers know several rows.

Branch and bound over boxes of the lattice, as `engine.search.algorithms.optimal` has it; but a box keeps no merged rows
of its own, because the pictures of persons need all of them. What is known of a transformation is kept instead: the
persons who are suppressed in it and in all its specializations. They give each box that ends there

- its lower bound: everything generalized to the lowest levels, these persons suppressed;
- its end, if they have more records than may be suppressed;
- higher lowest levels: an attribute's lowest level is raised as long as one of the two rules out what has it.

A box is halved at the attribute whose lowest level, raised, raises the bound most. Of the halves the one of lower bound
comes first. Memory: a bit per person and transformation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Levels, replaced
from engine.search.boxes.course import Course, Stand
from engine.search.boxes.incumbent import Incumbent
from engine.search.check import Check
from engine.search.problem import Problem, Progress, Solution
from engine.search.whole_persons import WholePersons
from engine.tables.persons.pictures import apart_of
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import InformationLoss, ranked


def whole_persons(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`. Exact for every model that counts persons and every measure that sums records, but for a gap."""
    return _Search(problem, progress).run()


@dataclass(frozen=True)
class _Box:
    low: Levels
    high: Levels
    bound: Bound


@dataclass(frozen=True, eq=False)
class _Out:
    """Who is suppressed: packed bits, and their records."""

    bits: NDArray[np.uint8]
    records: int


class _Search:
    def __init__(self, problem: Problem, progress: Progress | None) -> None:
        self._problem = problem
        self._incumbent = Incumbent(problem.gap)
        self._course = Course(problem, progress, self._incumbent, self._stand)
        self._persons = WholePersons(problem)
        self._apart = apart_of(problem.table.undivided())
        starts = self._apart.offsets
        self._number = starts.size - 1
        self._records = np.diff(np.concatenate([[0], np.cumsum(problem.table.counts)])[starts])
        self._known: dict[Levels, _Out] = {}
        self._losses: dict[Levels, InformationLoss | None] = {}
        self._opened = 0
        self._waiting: list[_Box] = []

    def run(self) -> Solution | None:
        low, high = self._problem.lattice.low, self._problem.lattice.high
        self._settle(high)
        if self._problem.start is not None:
            self._settle(self._problem.start)
        self._descend()
        self._waiting = [_Box(low, high, self._bound(low, high, None))]
        while self._waiting:
            if self._course.pause():
                break
            self._opened += 1
            box = self._tightened(self._waiting.pop())
            if box is not None:
                self._waiting += self._halves(box)
        return self._course.solution()

    def _descend(self) -> None:
        """Find a good solution: from the top down, always to the specialization of least bound that is one."""
        here = self._problem.lattice.high
        while self._sure(here).records <= self._problem.limit and not self._course.pause():
            below = [
                replaced(here, a, level - 1) for a, level in enumerate(here) if level > self._problem.lattice.low[a]
            ]
            # of hundreds of attributes it takes seconds to bound all: once the time is over, the order does not matter
            over = self._course.pause
            for levels in sorted(below, key=lambda one: () if over() else self._bound(one, one, None)):
                if over():
                    return
                if self._settle(levels) is not None:
                    here = levels
                    break
            else:
                return

    def _tightened(self, box: _Box) -> _Box | None:
        """Raise the lowest levels of a box as far as nothing is lost; None if nothing of it is left."""
        low, high = box.low, box.high
        sure = self._sure(high)
        while True:
            bound = max(box.bound, self._bound(low, high, sure))
            if sure.records > self._problem.limit or self._incumbent.rules_out(bound, low):
                return None
            if low == high:
                self._settle(low)
                return None
            raised = self._raised(low, high)
            if raised == low:
                return _Box(low, high, bound)
            low = raised

    def _raised(self, low: Levels, high: Levels) -> Levels:
        """Raise each attribute's lowest level while what has it is ruled out."""
        for a in range(len(low)):
            while low[a] < high[a] and self._is_ruled_out(low, replaced(high, a, low[a])):
                low = replaced(low, a, low[a] + 1)
        return low

    def _is_ruled_out(self, low: Levels, high: Levels) -> bool:
        if self._incumbent.rules_out(self._bound(low, high, None), low):
            return True
        sure = self._sure(high)
        if sure.records > self._problem.limit:
            return True
        return self._incumbent.rules_out(self._bound(low, high, sure), low)

    def _halves(self, box: _Box) -> list[_Box]:
        """Return the halves of a box, the one to continue with last."""
        low, high = box.low, box.high
        free = [a for a, (bottom, top) in enumerate(zip(low, high, strict=True)) if bottom < top]
        gains = [(self._bound(replaced(low, a, low[a] + 1), high, None), -a) for a in free]
        a = -max(gains)[1]
        ends, begins = replaced(high, a, low[a]), replaced(low, a, low[a] + 1)
        halves = [
            _Box(low, ends, max(box.bound, self._bound(low, ends, self._sure(ends)))),
            _Box(begins, high, max(box.bound, self._bound(begins, high, self._sure(high)))),
        ]
        return sorted(halves, key=lambda half: half.bound, reverse=True)

    def _bound(self, low: Levels, high: Levels, out: _Out | None) -> Bound:
        """Return a lower bound of the box, at least in which these persons are suppressed."""
        rows = np.empty(0, np.int64) if out is None else self._rows(out)
        return ranked(self._problem.evaluator.bound(low, high, rows))

    def _sure(self, levels: Levels) -> _Out:
        """Return who is suppressed in a transformation and all its specializations."""
        if levels not in self._known:
            cells = self._problem.table.partition(levels)
            found = self._persons.surely_out(cells, self._before(levels))
            self._known[levels] = self._packed(found)
            if self._persons.inherited:
                self._losses[levels] = self._offered(levels, self._known[levels])
        return self._known[levels]

    def _settle(self, levels: Levels) -> InformationLoss | None:
        """Return the exact loss of a transformation; None if it is no solution."""
        sure = self._sure(levels)
        if levels not in self._losses:
            out = self._persons.out(self._problem.table.partition(levels), self._unpacked(sure))
            self._losses[levels] = self._offered(levels, self._packed(out))
        return self._losses[levels]

    def _offered(self, levels: Levels, out: _Out) -> InformationLoss | None:
        """Return the loss if these persons are suppressed, and keep the transformation if it is preferred."""
        if out.records > self._problem.limit:
            return None
        rows = self._rows(out)
        # a measure that sums records reads nothing of the classes
        loss = self._problem.evaluator.loss(levels, self._problem.table.undivided(), rows)
        self._incumbent.offer(Check(levels, rows, out.records, loss))
        return loss

    def _before(self, levels: Levels) -> NDArray[np.bool_]:
        """Return who is suppressed at levels above these, as far as it is known."""
        found = np.zeros(-(-self._number // 8), np.uint8)
        for a, level in enumerate(levels):
            for higher in range(level + 1, self._problem.lattice.high[a] + 1):
                known = self._known.get(replaced(levels, a, higher))
                if known is not None:
                    found |= known.bits
                    break
        return self._unpacked(_Out(found, 0))

    def _packed(self, out: NDArray[np.bool_]) -> _Out:
        return _Out(np.packbits(out), int(self._records[out].sum()))

    def _unpacked(self, out: _Out) -> NDArray[np.bool_]:
        return np.unpackbits(out.bits, count=self._number).astype(np.bool_)

    def _rows(self, out: _Out) -> NDArray[np.int64]:
        return np.flatnonzero(self._apart.of_rows(self._unpacked(out)))

    def _stand(self) -> Stand:
        return Stand([box.bound for box in self._waiting], self._opened, self._persons.checked)
