"""Risk and utility loss of the policies of one table, of one policy or of a whole path of them.

A path leads from a policy towards the top of the lattice, one cleared bit per step. Its figures come from one walk
(`engine.kernels.frontier_dense` if an array has room for all combinations of groups, else
`engine.kernels.frontier_hashed`), so the cost of a step depends on the joined cells and not on the table.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.risk import Risk
from engine.frontiers.measures.risk_marketer import MARKETER
from engine.frontiers.measures.utility import UtilityLoss
from engine.frontiers.measures.utility_kl_divergence import KL_DIVERGENCE
from engine.frontiers.space.domain import Bits, PolicySpace
from engine.frontiers.space.places import Joins, Places
from engine.frontiers.space.tuples import Tuples
from engine.kernels.frontier_cells import dense_cells, hashed_cells
from engine.kernels.frontier_dense import walk_dense
from engine.kernels.frontier_hashed import walk_hashed
from engine.kernels.frontier_state import SHARED, WalkState, begin_walk

MOST_PLACES = 1 << 22
"""Largest array of all combinations of groups, in cells of 16 bytes."""
PLACES_PER_TUPLE = 64
"""With more cells than this per tuple, most are empty: then a walk over the occupied cells is faster."""
_FEWEST_PLACES = 1 << 16
_COUNTED_SIZES = 1 << 20
Scalar = TypeVar("Scalar", bound=np.generic)

_NO_CODES = np.zeros((0, 0), np.int32)


class Point(NamedTuple):
    """A point in the plane of risk and utility loss."""

    risk: float
    utility_loss: float


class Start(NamedTuple):
    """A walk at its first policy.

    Attributes
    ----------
    state : WalkState
        Its first policy's cells and groups.
    groups : int32
        Group of each position, attribute by attribute.
    codes : int32, shape (cells, m)
        Groups of each cell; empty if every combination of groups has a cell.
    risk : int
        The number of the risk in the kernels.
    point : Point
        Figures of the first policy.
    """

    state: WalkState
    groups: NDArray[np.int32]
    codes: NDArray[np.int32]
    risk: int
    point: Point


class Measures:
    """Measures the policies of a space.

    Parameters
    ----------
    space : PolicySpace
    tuples : Tuples
        The table and its population.
    risk, utility : Risk, UtilityLoss
    most_places : int
        See `MOST_PLACES`.

    Attributes
    ----------
    highest_risk, highest_loss : float
        Risk of the bottom and utility loss of the top: they normalize the figures.
    """

    def __init__(
        self,
        space: PolicySpace,
        tuples: Tuples,
        risk: Risk = MARKETER,
        utility: UtilityLoss = KL_DIVERGENCE,
        *,
        most_places: int = MOST_PLACES,
    ) -> None:
        self.space = space
        self.risk = risk
        self.utility = utility
        self.places = Places(space)
        self._tuples = tuples
        there = tuples.records > 0
        self._loss = utility.on(tuples.records[there], tuple(domain.size for domain in space.domains))
        self._marginals = [
            _sums(row, tuples.records, domain.size) for row, domain in zip(tuples.positions, space.domains, strict=True)
        ]
        self._costs = _joined(self._loss.costs, np.float64)
        self._cost_offsets = _begins(self._loss.costs)
        self._most_places = min(most_places, max(_FEWEST_PLACES, PLACES_PER_TUPLE * tuples.records.size))
        self._counted = _counted_sizes(risk, tuples)
        self.highest_risk = self.at(space.bottom).risk
        self.highest_loss = self.at(space.top).utility_loss

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self._tuples.records.sum())

    @functools.cached_property
    def guide(self) -> Measures:
        """The same with the marketer's risk, which every step lowers a little; this object if it has that risk."""
        if self.risk.kernel == SHARED:
            return self
        tuples = self._tuples if self.risk.of_population else replace(self._tuples, people=self._tuples.records)
        return Measures(self.space, tuples, MARKETER, self.utility, most_places=self._most_places)

    def at(self, bits: Bits) -> Point:
        """Measure one policy, from scratch."""
        return self.start(bits).point

    def along(
        self, bits: Bits, cleared: NDArray[np.int64], ends: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Measure a path.

        Parameters
        ----------
        bits : bool, shape (size,)
            Its first policy, the most specific one.
        cleared : int64, shape (bits,)
            The bits to clear one after the other; each is set, and comes after those under it.
        ends : int64, shape (steps,), optional
            Number of bits cleared after each step, ascending; by default one more per step.

        Returns
        -------
        float64, shape (steps + 1, 2)
            Risk and utility loss of the first policy and of the one after each step.

        Raises
        ------
        ValueError
            A bit is not set in the first policy, or is cleared twice: kernels would read beyond their arrays.
        """
        if not bits[cleared].all() or np.unique(cleared).size < cleared.size:
            raise ValueError("a bit of the path is not set at its beginning, or occurs twice")
        ends = np.arange(1, cleared.size + 1) if ends is None else ends
        found = np.empty((ends.size + 1, 2))
        if self.risk.kernel is None:
            for step, end in enumerate([0, *ends.tolist()]):
                found[step] = self.at(_without(bits, cleared[:end]))
            return found
        start = self.start(bits)
        found[0] = start.point
        joins = self.places.joins(start.groups, cleared)
        joins = joins._replace(steps=joins.steps[np.append(0, ends)])
        done = self._walk(start, joins, found[1:])
        if done < ends.size:
            # the rest fits into an array of all combinations
            end = ends[done - 1]
            found[done:] = self.along(_without(bits, cleared[:end]), cleared[end:], ends[done:] - end)
        return found

    def start(self, bits: Bits) -> Start:
        """Count the cells of a policy."""
        parts = self.space.groups(bits)
        widths = np.array([part[-1] + 1 for part in parts], np.int64)
        groups = _joined(parts, np.int32)
        codes = _NO_CODES
        rows, offsets = self._tuples, self.places.offsets[:-1]
        if self._fit(widths.tolist()):
            records, people = dense_cells(rows.positions, groups, offsets, widths, rows.records, rows.people)
        else:
            codes, records, people = hashed_cells(rows.positions, groups, offsets, rows.records, rows.people)
        state = self._state(parts, widths, records, people)
        risk = SHARED if self.risk.kernel is None else self.risk.kernel
        point = Point(*begin_walk(state, risk))
        if self.risk.kernel is None:
            there = records > 0
            own = self.risk.of_cells(records[there], np.maximum(people, records)[there])
            point = point._replace(risk=own)
        return Start(state, groups, codes, risk, point)

    def _fit(self, widths: Sequence[int]) -> bool:
        return math.prod(widths) <= self._most_places

    def _walk(self, start: Start, joins: Joins, found: NDArray[np.float64]) -> int:
        """Fill `found`; return the number of steps."""
        if start.codes is _NO_CODES:
            walk_dense(start.state, start.risk, *joins, found)
            return len(found)
        return int(walk_hashed(start.state, start.risk, start.codes, *joins, float(self._most_places), found))

    def _state(
        self,
        parts: Sequence[NDArray[np.int32]],
        widths: NDArray[np.int64],
        records: NDArray[np.int64],
        people: NDArray[np.int64],
    ) -> WalkState:
        each = np.concatenate([np.arange(width) for width in widths] or [np.zeros(0, np.int64)])
        sums = [_sums(part, marginal, int(part[-1]) + 1) for part, marginal in zip(parts, self._marginals, strict=True)]
        sizes = [np.bincount(part) for part in parts]
        return WalkState(
            records=records,
            people=people,
            widths=widths,
            offsets=np.concatenate([[0], np.cumsum(widths)]),
            first=each,
            last=each.copy(),
            group_records=_joined(sums, np.int64),
            group_sizes=_joined(sizes, np.int64),
            costs=self._costs,
            cost_offsets=self._cost_offsets,
            sizes=np.zeros(self._counted, np.int64),
            smallest=np.ones(1, np.int64),
            sums=np.zeros(4),
            constants=np.array([self.records, self._loss.start, self._loss.per_cell]),
        )


def _without(bits: Bits, cleared: NDArray[np.int64]) -> Bits:
    found = bits.copy()
    found[cleared] = False
    return found


def _sums(groups: NDArray[np.int32], counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    found = np.zeros(size, np.int64)
    np.add.at(found, groups, counts)
    return found


def _joined(parts: Sequence[NDArray[Any]], dtype: type[Scalar]) -> NDArray[Scalar]:
    return np.concatenate([np.zeros(0, dtype), *parts], dtype=dtype)


def _begins(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)[:-1]


def _counted_sizes(risk: Risk, tuples: Tuples) -> int:
    if risk.kernel in {None, SHARED}:
        return 1
    return min(int(np.maximum(tuples.people, tuples.records).sum()) + 2, _COUNTED_SIZES)
