"""What clearing each bit is believed to be worth: risk gained by utility lost, both normalized.

The worth of a bit falls slowly while other bits are cleared, so a measured one is a good upper estimate later. A bit
that was never measured is estimated from the utility that its own attribute loses by itself, which costs nothing: the
worth of a few bits of each attribute fixes a power of it. Each measurement that is below the estimate lowers the
attribute's other estimates a little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontier.domain import PolicySpace
from engine.frontier.walk import Walk

SAMPLE = 12
"""Bits of each attribute that are measured before the rest is estimated."""
LEARNING = 0.05
"""Part of the error of an estimate, in logarithms, by which the others of the attribute are corrected."""
_FLOOR = 1e-9
_STEEPEST = 3.0


class Scores:
    """The bits that can be cleared next, and their worth.

    Parameters
    ----------
    space : PolicySpace
    walk : Walk
    scale : float
        The utility loss of the top.

    Attributes
    ----------
    worth : float64, shape (size,)
        Minus infinity for a bit that cannot be cleared yet, or is.
    """

    def __init__(self, space: PolicySpace, walk: Walk, scale: float) -> None:
        self._space = space
        self._walk = walk
        self._scale = scale or 1.0
        self._attribute = np.repeat(np.arange(len(space.domains)), np.diff(space.offsets))
        self._children = np.bincount(space.parents[walk.bits & (space.parents >= 0)], minlength=space.size)
        self._powers = np.zeros((len(space.domains), 2))
        self._measured = np.zeros(space.size, np.bool_)
        self._marginal = np.zeros(space.size)
        self.worth = np.full(space.size, -np.inf)
        for bit in np.flatnonzero(walk.bits & (self._children == 0)).tolist():
            self._marginal[bit] = self._look(bit)

    def samples(self, most: int) -> list[NDArray[np.int64]]:
        """Return for each attribute bits to measure first, spread over what they cost their attribute."""
        found = []
        for own in self._ready():
            order = own[np.argsort(self._marginal[own], kind="stable")]
            found.append(order[np.unique(np.linspace(0, own.size - 1, min(most, own.size)).astype(np.int64))])
        return found

    def learn(self, bit: int, worth: float, *, correct: float = LEARNING) -> None:
        """Note a measured worth, and correct the estimates of the attribute's other bits."""
        before = self.worth[bit]
        self.worth[bit] = max(worth, 0.0)
        self._measured[bit] = True
        if correct and np.isfinite(before):
            shift = correct * np.log((self.worth[bit] + _FLOOR) / (before + _FLOOR))
            a = self._attribute[bit]
            own = slice(self._space.offsets[a], self._space.offsets[a + 1])
            self.worth[own][np.arange(*own.indices(self._space.size)) != bit] *= np.exp(shift)
            self._powers[a, 0] += shift

    def estimate(self, sampled: list[NDArray[np.int64]]) -> None:
        """Estimate the worth of all bits that were not measured."""
        for a, (bits, own) in enumerate(zip(sampled, self._ready(), strict=True)):
            if not bits.size:
                continue
            self._powers[a] = _power(np.log(self._marginal[bits]), np.log(self.worth[bits] + _FLOOR))
            rest = own[~self._measured[own]]
            self.worth[rest] = self._estimated(a, self._marginal[rest])

    def cleared(self, bits: NDArray[np.int64]) -> None:
        """Take cleared bits out, let those above them in, and estimate anew those beside them."""
        self.worth[bits] = -np.inf
        for bit in bits.tolist():
            a = int(self._attribute[bit])
            for other in self._beside(bit, a):
                marginal = self._look(other)
                self.worth[other] *= self._marginal[other] / marginal
                self._marginal[other] = marginal
            above = int(self._space.parents[bit])
            if above >= 0:
                self._children[above] -= 1
                if self._children[above] == 0:
                    self._marginal[above] = self._look(above)
                    self.worth[above] = self._estimated(a, self._marginal[above : above + 1])[0]

    def _ready(self) -> list[NDArray[np.int64]]:
        ready = self._walk.bits & (self._children == 0)
        return [
            start + np.flatnonzero(ready[start:end])
            for start, end in zip(self._space.offsets.tolist(), self._space.offsets[1:].tolist(), strict=False)
        ]

    def _look(self, bit: int) -> float:
        return self._walk.marginal_loss(bit) / self._scale + _FLOOR

    def _estimated(self, attribute: int, marginal: NDArray[np.float64]) -> NDArray[np.float64]:
        intercept, slope = self._powers[attribute]
        found: NDArray[np.float64] = np.exp(np.clip(intercept + slope * np.log(marginal), -50.0, 50.0))
        return found

    def _beside(self, bit: int, attribute: int) -> list[int]:
        """Return the set bits next to one of an ordered domain; those of a tree have groups of their own."""
        if not self._space.domains[attribute].ordered:
            return []
        start, end = self._space.offsets[attribute], self._space.offsets[attribute + 1]
        before = np.flatnonzero(self._walk.bits[start:bit])[-1:] + start
        after = np.flatnonzero(self._walk.bits[bit + 1 : end])[:1] + bit + 1
        return [*before.tolist(), *after.tolist()]


def _power(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return intercept and slope of the line of least squares."""
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > _FLOOR else 0.0
    slope = min(max(slope, -_STEEPEST), _STEEPEST)
    return float(y.mean()) - slope * float(x.mean()), slope
