"""Estimates of the worth of clearing each bit: risk reduced per utility lost, both normalized.

Only a measurement gives the exact worth. But the current policy of the walk has been measured, and the contents of the
groups that a bit joins give an estimate of both figures. The Kullback-Leibler loss lies between the loss if all groups
had the same distribution over the other attributes (the log-sum inequality) and the loss of the attribute alone, if no
cell joins another. The reduction of risk is at most the risk of all the groups, and mostly nearer to the risk of all
but the largest. So the logarithm of the worth is estimated by one line per attribute in the logarithms of these
figures, fitted by least squares to the measurements, with older ones fading. A bit that was measured keeps a part of
its distance from the line.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.search.walk import Groups, Walk
from engine.frontiers.space.domain import PolicySpace

SAMPLE = 12
"""Bits of each attribute that are measured before the first step."""
_FLOOR = 1e-9
_FADING = 0.99
"""Weight of a measurement after the next one of its attribute."""
_PRIOR = np.array([0.0, -0.5, -0.5, 0.5, 0.0, 0.5, 0.0])
"""Slopes before the first measurement, of: one, loss alone, loss if distributed alike, harmonic, whole and lesser
share, cells."""
_LOOSE = np.array([100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
_LARGEST_ERROR = 2.0
_KEPT = 0.7
"""The part of its distance from the line that a measured bit keeps."""


class Scores:
    """The bits that can be cleared next, and their worth.

    Parameters
    ----------
    space : PolicySpace
    walk : Walk

    Attributes
    ----------
    worth : float64, shape (size,)
        Logarithm of the worth; minus infinity for a bit that cannot be cleared yet, or is cleared.
    """

    def __init__(self, space: PolicySpace, walk: Walk) -> None:
        self._space = space
        self._walk = walk
        m = len(space.domains)
        self._attribute = np.repeat(np.arange(m), np.diff(space.offsets))
        self._places = [_first_and_last(domain.separators, domain.bits) for domain in space.domains]
        self._lines = np.tile(_PRIOR, (m, 1))
        self._doubt = np.tile(np.diag(_LOOSE), (m, 1, 1))
        self._distance = np.zeros(space.size)
        self._bounds = np.zeros((space.size, _PRIOR.size))
        self._seen = np.zeros(m, np.bool_)
        self.worth = np.full(space.size, -np.inf)
        self.look()

    def look(self) -> None:
        """Record the current policy of the walk."""
        ready = self._ready()
        self.worth[:] = -np.inf
        for a, groups in enumerate(self._walk.sums()):
            start, end = self._space.offsets[a], self._space.offsets[a + 1]
            own = np.flatnonzero(ready[start:end])
            if own.size:
                first, last = self._places[a]
                runs = groups.of[first[own]], groups.of[last[own] + 1]
                self._bounds[start + own] = self._bounds_of(a, groups, *runs)
        self._believe(np.flatnonzero(ready))

    def samples(self, most: int) -> NDArray[np.int64]:
        """Return bits of each attribute to measure first, spread over their estimated worth."""
        found = [np.zeros(0, np.int64)]
        for start, end in zip(self._space.offsets.tolist(), self._space.offsets[1:].tolist(), strict=False):
            own = start + np.flatnonzero(np.isfinite(self.worth[start:end]))
            order = own[np.argsort(self.worth[own], kind="stable")]
            found.append(order[np.unique(np.linspace(0, own.size - 1, min(most, own.size)).astype(np.int64))])
        return np.concatenate(found)

    def learn(self, bit: int, gained: float, lost: float) -> None:
        """Record the result of clearing a bit: risk reduced and utility lost, normalized."""
        a, bounds = self._attribute[bit], self._bounds[bit]
        worth = np.log(max(gained, 0.0) + _FLOOR) - np.log(max(lost, 0.0) + _FLOOR)
        error = worth - bounds @ self._lines[a]
        if self._seen[a]:
            error = min(max(error, -_LARGEST_ERROR), _LARGEST_ERROR)
        self._seen[a] = True
        # recursive least squares
        towards = self._doubt[a] @ bounds
        gain = towards / (1.0 + bounds @ towards)
        self._lines[a] += gain * error
        self._doubt[a] = np.minimum((self._doubt[a] - np.outer(gain, towards)) / _FADING, _LOOSE[0])
        self._distance[bit] = (worth - bounds @ self._lines[a]) * _KEPT
        own = np.flatnonzero((self._attribute == a) & np.isfinite(self.worth))
        self._believe(own)
        self.worth[bit] = worth

    def _believe(self, bits: NDArray[np.int64]) -> None:
        self.worth[bits] = (self._bounds[bits] * self._lines[self._attribute[bits]]).sum(axis=1) + self._distance[bits]

    def _bounds_of(
        self, attribute: int, groups: Groups, first: NDArray[np.int32], last: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return the variables of the lines, for bits that join groups `first` to `last`, float64, shape (bits, 7)."""
        ends = np.column_stack([first, last + 1]).ravel()

        def total(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
            found: NDArray[np.float64] = np.add.reduceat(np.append(values, 0).astype(np.float64), ends)[::2]
            return found

        def largest(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
            found: NDArray[np.float64] = np.maximum.reduceat(np.append(values, 0).astype(np.float64), ends)[::2]
            return found

        records, sizes = total(groups.records), total(groups.sizes)
        everyone = groups.records.sum()
        own = groups.records * self._walk.costs(attribute, groups.sizes)
        alone = (records * self._walk.costs(attribute, sizes.astype(np.int64)) - total(own)) / everyone
        even = total(_spread(groups.records, groups.sizes)) - _spread(records, sizes)
        shares = total(groups.shares)
        harmonic = shares - total(groups.shares**2) / np.maximum(shares, _FLOOR)
        smaller, fewer = shares - largest(groups.shares), total(groups.cells) - largest(groups.cells)
        columns: list[NDArray[np.float64]] = [
            alone,
            even / everyone,
            harmonic / everyone,
            shares / everyone,
            smaller / everyone,
            fewer / everyone,
        ]
        return np.column_stack([np.ones(first.size), *(np.log(np.maximum(each, 0.0) + _FLOOR) for each in columns)])

    def _ready(self) -> NDArray[np.bool_]:
        """Return which bits are set and have no set bit under them."""
        bits, parents = self._walk.bits, self._space.parents
        above = parents[bits]
        found = bits.copy()
        found[above[above >= 0]] = False
        return found


def _spread(
    records: NDArray[np.float64] | NDArray[np.int64], sizes: NDArray[np.float64] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return n ln(n / leaf values)."""
    found: NDArray[np.float64] = np.multiply(records, np.log(np.maximum(records, 1) / sizes), dtype=np.float64)
    return found


def _first_and_last(separators: NDArray[np.int32], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last position that each bit separates from the next one, int64, shape (bits,)."""
    first, last = np.zeros(bits, np.int64), np.zeros(bits, np.int64)
    joinable = np.flatnonzero(separators >= 0)
    last[separators[joinable]] = joinable
    first[separators[joinable[::-1]]] = joinable[::-1]
    return first, last
