"""Greedy paths from the bottom of the lattice to its top: always clear the bit that gains most risk by utility lost.

A path of best ratios follows the lower left of the plane, where chains at random hardly ever come. To choose a step all
bits would have to be measured; lazily, as Minoux does for gains that only fall (Accelerated greedy algorithms for
maximizing submodular set functions, 1978), only the bit believed best is, until one keeps its place at the head. Here
gains fall mostly, not always, and most of them are estimated at first (`engine.frontier.greedy_scores`).

Every policy measured to choose a step counts, and is offered to the frontier. More paths follow while policies are
left: the second one measures every bit at its beginning instead of estimating, later ones disturb the worth of each bit
by a random factor of its own.

The risk that guides a path is the marketer's, whatever measure the frontier has: the largest risk of a record stays as
it is for most bits and cannot guide. A path chosen by it is then measured again, and both counts count.

Looking ahead needs a place in memory for every combination of groups. Where there are too many at the bottom, a path
begins blindly, with the bits that cost their own attribute least: with many attributes that beginning can be long, and
the full-domain initialization finds the better frontier.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontier.exploration import Exploration
from engine.frontier.greedy_scores import LEARNING, SAMPLE, Scores
from engine.frontier.measures import Point
from engine.frontier.paths import upward
from engine.frontier.walk import Walk

_DISTURBANCE = 0.3
_LAST = 32
_LEAST_LOST = 1e-12
_PER_BIT = 2


def greedy_path(exploration: Exploration, policies: int) -> None:
    """Measure `policies` policies, and at least those of one path where the budget allows it."""
    until = exploration.visited + policies
    number = 0
    while exploration.remaining and exploration.unseen and (number == 0 or exploration.visited < until):
        _Path(exploration, number, policies).go()
        number += 1


class _Path:
    """One path; the number 0 estimates, 1 measures, others disturb."""

    def __init__(self, exploration: Exploration, number: int, policies: int) -> None:
        self._exploration = exploration
        self._space = exploration.space
        self._guide = exploration.measures.guide
        self._own = self._guide is exploration.measures
        spread = _DISTURBANCE if number > 1 else 0.0
        self._factor = np.exp(spread * exploration.random.standard_normal(self._space.size))
        self._sample = self._space.size if number == 1 else SAMPLE
        self._learning = 0.0 if number == 1 else LEARNING
        # so that a path fits into the budget: a lattice of very many bits is climbed several bits a step
        self._stride = -(-_PER_BIT * self._space.size // max(policies, exploration.policies))
        # for the rest of the way up, or for measuring the path again
        again = 0 if self._own else min(self._space.size + 1, exploration.remaining // 2)
        self._reserve = _LAST + again
        self._order: list[int] = []

    def go(self) -> None:
        """Walk it."""
        self._walk = Walk(self._guide, self._begin())
        if not self._order:
            self._offer(self._walk.point, [])
        self._scores = Scores(self._space, self._walk, self._guide.highest_loss)
        self._estimate()
        while self._walk.bits.any() and self._exploration.remaining > self._reserve:
            self._step()
        self._finish()

    def _begin(self) -> NDArray[np.bool_]:
        """Go up by what each bit costs its attribute until an array of all combinations of groups has a place."""
        bottom = self._space.bottom
        if self._guide.fits(bottom):
            return bottom
        chain = upward(self._space, bottom, self._guide.marginal_costs)
        low, high = 0, chain.size
        while high - low > 1:
            middle = (low + high) // 2
            bits = bottom.copy()
            bits[chain[:middle]] = False
            low, high = (low, middle) if self._guide.fits(bits) else (middle, high)
        steps = max(1, min(high // self._stride, self._exploration.remaining // 2 - 1))
        ends = np.linspace(high / steps, high, steps).astype(np.int64)
        if self._own:
            self._exploration.walk(bottom, chain[:high], ends)
        bits = bottom.copy()
        bits[chain[:high]] = False
        self._order = chain[:high].tolist()
        return bits

    def _estimate(self) -> None:
        sampled = self._scores.samples(self._sample)
        for bits in sampled:
            for bit in bits.tolist():
                if self._exploration.remaining:
                    self._scores.learn(bit, self._probe(bit), correct=0.0)
                else:
                    self._scores.worth[bit] = 0.0
        self._scores.estimate(sampled)

    def _step(self) -> None:
        """Measure the best bit, until the best is the one just measured; clear it."""
        fresh: dict[int, float] = {}
        while True:
            bit = int(np.argmax(self._scores.worth))
            if bit in fresh or not self._exploration.remaining:
                break
            self._scores.learn(bit, self._probe(bit), correct=self._learning)
            fresh[bit] = float(self._scores.worth[bit])
            self._scores.worth[list(fresh)] = list(fresh.values())
        bits = self._batch(bit)
        point = self._walk.clear(bits)
        self._order += bits.tolist()
        if bits.size > 1 and self._exploration.remaining:
            self._offer(point, [])
        self._scores.cleared(bits)

    def _batch(self, bit: int) -> NDArray[np.int64]:
        if self._stride == 1:
            return np.array([bit])
        best = np.argsort(-self._scores.worth, kind="stable")[: self._stride]
        found: NDArray[np.int64] = best[np.isfinite(self._scores.worth[best])]
        return found

    def _probe(self, bit: int) -> float:
        here, there = self._walk.point, self._walk.probe(bit)
        self._offer(there, [bit])
        gained = (here.risk - there.risk) / self._guide.highest_risk
        lost = (there.utility_loss - here.utility_loss) / (self._guide.highest_loss or 1.0)
        return float(self._factor[bit]) * gained / max(lost, _LEAST_LOST)

    def _offer(self, point: Point, without: list[int]) -> None:
        if not self._own:
            self._exploration.spend()
            return
        bits = self._walk.bits.copy()
        bits[without] = False
        self._exploration.take(np.array([point]), lambda _: bits[np.newaxis])

    def _finish(self) -> None:
        """Go on to the top with what is left of the budget, in even steps; measure a path that was only guided."""
        worth = self._scores.worth
        rest = upward(self._space, self._walk.bits, np.where(np.isfinite(worth), -worth, -np.finfo(np.float64).max))
        bits, cleared = self._walk.bits, rest
        if not self._own:
            bits, cleared = self._space.bottom, np.array([*self._order, *rest.tolist()], np.int64)
        steps = min(cleared.size, self._exploration.remaining - (not self._own))
        if steps > 0:
            ends = np.linspace(cleared.size / steps, cleared.size, steps).astype(np.int64)
            self._exploration.walk(bits, cleared, ends, known=self._own)
