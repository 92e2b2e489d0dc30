"""Greedy paths from the bottom of the lattice to its top: clear the bit that reduces most risk per utility lost.

A path of best ratios follows the lower left of the plane, where chains at random hardly ever come. To choose a step
exactly, all bits would have to be measured. Lazy evaluation, as of Minoux for gains that only fall (Accelerated greedy
algorithms for maximizing submodular set functions, 1978), measures only the bit with the best estimate, until a
measured bit remains the best or the measurements of this step are used up. `engine.frontiers.search.greedy_scores`
makes the estimates.

Every policy measured to choose a step counts, and is offered to the frontier. More paths follow while policies are
left; they multiply the worth of each bit by a random factor. The risk that guides a path is always the marketer's: the
highest risk of a record does not change for most bits and cannot guide. If the frontier has another risk, the path is
measured again with it, and both measurements count.
"""

from __future__ import annotations

import numpy as np

from engine.frontiers.measures.along_paths import Point
from engine.frontiers.search.exploration import Exploration
from engine.frontiers.search.greedy_scores import SAMPLE, Scores
from engine.frontiers.search.walk import Walk
from engine.frontiers.space.paths import upward

_DISTURBANCE = 0.3
_PER_BIT = 2
"""Least number of policies per step, if the lattice has few enough bits."""


def greedy_path(exploration: Exploration, policies: int) -> None:
    """Measure `policies` policies, and at least those of one path if the budget allows it."""
    until = exploration.visited + policies
    number = 0
    while exploration.remaining and exploration.unseen and (number == 0 or exploration.visited < until):
        _Path(exploration, number, min(until - exploration.visited, exploration.remaining)).go()
        number += 1


class _Path:
    """One path of at most this many policies; paths after the first have random factors."""

    def __init__(self, exploration: Exploration, number: int, policies: int) -> None:
        self._exploration = exploration
        self._space = exploration.space
        self._guide = exploration.measures.guide
        self._own = self._guide is exploration.measures
        spread = _DISTURBANCE if number else 0.0
        self._shift = spread * exploration.random.standard_normal(self._space.size)
        # for measuring the path again
        again = 0 if self._own else min(self._space.size + 1, policies // 2)
        self._end = exploration.visited + policies - again
        # so that a path fits into its policies: in a lattice of very many bits, several bits per step
        self._stride = max(1, -(-_PER_BIT * self._space.size // max(policies - again, 1)))
        self._order: list[int] = []

    def go(self) -> None:
        """Walk the path."""
        self._walk = Walk(self._guide, self._space.bottom)
        self._offer(self._walk.point, [])
        self._scores = Scores(self._space, self._walk)
        samples = self._scores.samples(SAMPLE)
        most = (self._end - self._exploration.visited) // 4
        for bit in samples[:: -(-samples.size // max(most, 1)) or 1].tolist():
            if self._left():
                self._probe(bit)
        while self._walk.bits.any() and self._left():
            self._step()
        self._finish()

    def _left(self) -> int:
        return min(self._end - self._exploration.visited, self._exploration.remaining)

    def _step(self) -> None:
        """Measure the best bit, until the best is one just measured; clear it."""
        steps = -(-int(self._walk.bits.sum()) // self._stride)
        most = max(1, round(2 * self._left() / steps))
        fresh: dict[int, Point] = {}
        while True:
            bit = int(np.argmax(self._scores.worth + self._shift))
            if bit in fresh or not self._left() or len(fresh) >= most:
                break
            fresh[bit] = self._probe(bit)
        if fresh and bit not in fresh:
            bit = max(fresh, key=lambda each: float(self._scores.worth[each] + self._shift[each]))
        bits = [bit]
        if self._stride > 1:
            best = np.argsort(-(self._scores.worth + self._shift), kind="stable")[: self._stride]
            bits = best[np.isfinite(self._scores.worth[best])].tolist()
        point = self._walk.clear(np.array(bits))
        self._order += bits
        if (len(bits) > 1 or bit not in fresh) and self._left():
            self._offer(point, [])
        self._scores.look()

    def _probe(self, bit: int) -> Point:
        here, there = self._walk.point, self._walk.probe(bit)
        self._offer(there, [bit])
        gained = (here.risk - there.risk) / self._guide.highest_risk
        lost = (there.utility_loss - here.utility_loss) / (self._guide.highest_loss or 1.0)
        self._scores.learn(bit, gained, lost)
        return there

    def _offer(self, point: Point, without: list[int]) -> None:
        if not self._own:
            self._exploration.spend()
            return
        bits = self._walk.bits.copy()
        bits[without] = False
        self._exploration.take(np.array([point]), lambda _: bits[np.newaxis])

    def _finish(self) -> None:
        """Continue to the top with the remaining policies, in even steps; measure a path that another risk guided."""
        worth = self._scores.worth
        rest = upward(self._space, self._walk.bits, np.where(np.isfinite(worth), -worth, -np.finfo(np.float64).max))
        bits, cleared = self._walk.bits, rest
        if not self._own:
            bits, cleared = self._space.bottom, np.array([*self._order, *rest.tolist()], np.int64)
        steps = min(cleared.size, self._exploration.remaining - (not self._own))
        if steps > 0:
            ends = np.linspace(cleared.size / steps, cleared.size, steps).astype(np.int64)
            self._exploration.walk(bits, cleared, ends, known=self._own)
