"""The pairs of neighbouring positions that each bit of a policy space keeps apart: its places.

A tree's bit separates all children of its node, so one bit may have several places. The places of a bit are neighbours:
between two of them is a child, which is one group when the bit is cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.space.domain import PolicySpace


class Joins(NamedTuple):
    """The joins of clearing bits one after the other: the places of each bit, in the form of the walk kernels.

    Attributes
    ----------
    attributes : int64, shape (joins,)
    lefts : int64, shape (joins,)
        The group left of the place, within its attribute.
    steps : int64, shape (bits + 1,)
        Where the joins of each bit begin.
    """

    attributes: NDArray[np.int64]
    lefts: NDArray[np.int64]
    steps: NDArray[np.int64]


class Places:
    """The places of every bit of a space."""

    def __init__(self, space: PolicySpace) -> None:
        bits, attributes, positions = [], [], []
        for a, domain in enumerate(space.domains):
            joinable = np.flatnonzero(domain.separators >= 0)
            bits.append(domain.separators[joinable] + space.offsets[a])
            attributes.append(np.full(joinable.size, a, np.int64))
            positions.append(joinable)
        owner = np.concatenate(bits) if bits else np.zeros(0, np.int64)
        order = np.argsort(owner, kind="stable")
        self._attributes = np.concatenate(attributes)[order] if bits else owner
        self._positions = np.concatenate(positions)[order] if bits else owner
        self._starts = np.searchsorted(owner[order], np.arange(space.size + 1))
        self.offsets = np.concatenate([[0], np.cumsum([domain.size for domain in space.domains], dtype=np.int64)])

    def joins(self, groups: NDArray[np.int32], cleared: NDArray[np.int64]) -> Joins:
        """Return the joins of clearing bits.

        Parameters
        ----------
        groups : int32
            Group of each position at the first policy of the walk, attribute by attribute.
        cleared : int64, shape (bits,)
            Bits that are set there, each after those under it.
        """
        counts = self._starts[cleared + 1] - self._starts[cleared]
        steps = np.concatenate([[0], np.cumsum(counts)])
        which = np.repeat(self._starts[cleared] - steps[:-1], counts) + np.arange(steps[-1])
        attributes = self._attributes[which]
        lefts = groups[self.offsets[attributes] + self._positions[which]].astype(np.int64)
        return Joins(attributes, lefts, steps)
