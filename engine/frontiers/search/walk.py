"""A walk towards the top of the lattice that measures possible steps before it takes one.

The result of clearing a bit is measured without clearing it, at the cost of the cells that the bit separates. If an
array of all combinations of groups is too large, a measurement reads all cells, and a step counts from scratch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.along_paths import Measures, Point
from engine.frontiers.space.domain import Bits
from engine.kernels.frontier_dense import probe_dense, walk_dense
from engine.kernels.frontier_groups import group_sums, probe_hashed


class Groups(NamedTuple):
    """The contents of the groups of one attribute; each array but the first has shape (groups,).

    Attributes
    ----------
    of : int32, shape (d,)
        Group of each position.
    records, sizes : int64
        Records and leaf values.
    shares : float64
        Sum of f / F of the cells in a group.
    cells : int64
        Number of cells with records.
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
        The first policy. The risk must be one of the kernels.

    Attributes
    ----------
    bits : bool, shape (size,)
        The current policy.
    point : Point
    """

    def __init__(self, measures: Measures, bits: Bits) -> None:
        self.bits = bits.copy()
        self._measures = measures
        self._found = np.empty((1, 2))
        self._start = measures.start(bits)
        self.point = self._start.point

    def probe(self, bit: int) -> Point:
        """Measure the policy without a bit whose lower bits are all cleared, and do not move."""
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
        """Return the contents of the groups of each attribute at the current policy."""
        state = self._start.state
        shares, cells = np.zeros(state.first.size), np.zeros(state.first.size, np.int64)
        group_sums(state, self._start.codes, shares, cells)
        found = []
        places = self._measures.places.offsets
        for a, now in enumerate(self._measures.space.groups(self.bits)):
            # a run is stored at the first of its groups at the beginning of the walk
            firsts = np.flatnonzero(np.diff(now, prepend=-1))
            begins = state.offsets[a] + self._start.groups[places[a] + firsts]
            records, sizes = state.group_records[begins], state.group_sizes[begins]
            found.append(Groups(now, records, sizes, shares[begins], cells[begins]))
        return found

    def costs(self, attribute: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the utility loss of one record in groups of these numbers of leaf values, without the cells."""
        found: NDArray[np.float64] = self._start.state.costs[self._start.state.cost_offsets[attribute] + sizes]
        return found
