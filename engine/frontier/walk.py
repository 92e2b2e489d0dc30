"""A walk towards the top of the lattice that looks before it steps.

What clearing a bit would give is measured without clearing it, at the cost of the cells that the bit separates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontier.domain import Bits
from engine.frontier.measures import Measures, Point
from engine.kernels.frontier_dense import probe_dense, walk_dense


class Walk:
    """A policy that moves up.

    Parameters
    ----------
    measures : Measures
    bits : bool, shape (size,)
        Where it begins; all combinations of its groups must have a place in memory (`Measures.fits`), and the risk
        must be one that the kernels know.

    Attributes
    ----------
    bits : bool, shape (size,)
        Where it is.
    point : Point
    """

    def __init__(self, measures: Measures, bits: Bits) -> None:
        start = measures.start(bits)
        self.bits = bits.copy()
        self.point = start.point
        self._measures = measures
        self._state = start.state
        self._groups = start.groups
        self._risk = start.risk
        self._found = np.empty((1, 2))

    def probe(self, bit: int) -> Point:
        """Measure the policy without a bit, all of whose bits below are cleared, and stay."""
        joins = self._measures.places.joins(self._groups, np.array([bit]))
        probe_dense(self._state, self._risk, joins.attributes[0], joins.lefts, self._found[0])
        return Point(*self._found[0].tolist())

    def clear(self, bits: NDArray[np.int64]) -> Point:
        """Clear bits, int64, each after those under it, as one step."""
        joins = self._measures.places.joins(self._groups, bits)
        walk_dense(
            self._state,
            self._risk,
            joins.attributes,
            joins.lefts,
            joins.steps[[0, -1]],
            self._found,
        )
        self.bits[bits] = False
        self.point = Point(*self._found[0].tolist())
        return self.point

    def marginal_loss(self, bit: int) -> float:
        """Return what clearing a bit, all of whose bits below are cleared, adds to the utility loss, cells left aside.

        It is known from the groups of one attribute alone, without measuring a policy.
        """
        state = self._state
        joins = self._measures.places.joins(self._groups, np.array([bit]))
        a = joins.attributes[0]
        at = state.offsets[a]
        begins = at + np.append(state.first[at + joins.lefts[0]], joins.lefts + 1)
        records, sizes = state.group_records[begins], state.group_sizes[begins]
        costs = state.costs[state.cost_offsets[a] :]
        return float(records.sum() * costs[sizes.sum()] - records @ costs[sizes])
