"""A walk towards the top of the lattice that looks before it steps.

What clearing a bit would give is measured without clearing it, at the cost of the cells that the bit separates; where
an array of all combinations of groups is too large, at that of reading all cells, and a step is a count from scratch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.measures import Measures, Point
from engine.frontiers.space.domain import Bits
from engine.kernels.frontier_dense import probe_dense, walk_dense
from engine.kernels.frontier_groups import group_sums, probe_hashed


class Groups(NamedTuple):
    """What the groups of one attribute hold, each array but the first of shape (groups,).

    Attributes
    ----------
    of : int32, shape (d,)
        Group of each position.
    records, sizes : int64
        Records and leaf values.
    shares : float64
        Sum of f / F of the cells in a group.
    cells : int64
        How many cells with records.
    """

    of: NDArray[np.int32]
    records: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shares: NDArray[np.float64]
    cells: NDArray[np.int64]


class Walk:
    """A policy that moves up.

    Parameters
    ----------
    measures : Measures
    bits : bool, shape (size,)
        Where it begins. The risk must be one that the kernels know.

    Attributes
    ----------
    bits : bool, shape (size,)
        Where it is.
    point : Point
    """

    def __init__(self, measures: Measures, bits: Bits) -> None:
        self.bits = bits.copy()
        self._measures = measures
        self._found = np.empty((1, 2))
        self._start = measures.start(bits)
        self.point = self._start.point

    def probe(self, bit: int) -> Point:
        """Measure the policy without a bit, all of whose bits below are cleared, and stay."""
        joins = self._measures.places.joins(self._start.groups, np.array([bit]))
        if self._start.codes.shape[0]:
            probe_hashed(
                self._start.state, self._start.risk, self._start.codes, joins.attributes[0], joins.lefts, self._found[0]
            )
        else:
            probe_dense(self._start.state, self._start.risk, joins.attributes[0], joins.lefts, self._found[0])
        return Point(*self._found[0].tolist())

    def clear(self, bits: NDArray[np.int64]) -> Point:
        """Clear bits, int64, each after those under it, as one step."""
        self.bits[bits] = False
        if self._start.codes.shape[0]:
            self._start = self._measures.start(self.bits)
            self.point = self._start.point
            return self.point
        joins = self._measures.places.joins(self._start.groups, bits)
        walk_dense(
            self._start.state,
            self._start.risk,
            joins.attributes,
            joins.lefts,
            joins.steps[[0, -1]],
            self._found,
        )
        self.point = Point(*self._found[0].tolist())
        return self.point

    def sums(self) -> list[Groups]:
        """Return what the groups of each attribute hold where it is."""
        state = self._start.state
        shares, cells = np.zeros(state.first.size), np.zeros(state.first.size, np.int64)
        group_sums(state, self._start.codes, shares, cells)
        found = []
        places = self._measures.places.offsets
        for a, now in enumerate(self._measures.space.groups(self.bits)):
            # a run is kept at the first of the groups that the walk began with
            firsts = np.flatnonzero(np.diff(now, prepend=-1))
            begins = state.offsets[a] + self._start.groups[places[a] + firsts]
            records, sizes = state.group_records[begins], state.group_sizes[begins]
            found.append(Groups(now, records, sizes, shares[begins], cells[begins]))
        return found

    def costs(self, attribute: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the utility loss of one record in groups of so many leaf values, cells left aside."""
        found: NDArray[np.float64] = self._start.state.costs[self._start.state.cost_offsets[attribute] + sizes]
        return found
