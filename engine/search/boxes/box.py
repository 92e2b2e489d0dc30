"""One box of the lattice: its levels, its rows, and facts about them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.boxes import summed_weights
from engine.lattice.space import Levels, replaced
from engine.search.boxes.box_rows import BoxRows, Ladders
from engine.tables.counting.frequency import Classes
from engine.utility.bounds.box_costs import Bound, BoxCosts

NO_BOUND: Bound = (float("-inf"),)


class Probe(NamedTuple):
    """Facts about the part of a box in which one attribute is at its lowest level.

    Attributes
    ----------
    suppressed : int
        Records that every transformation in it suppresses.
    bound : Bound
        Lower bound of all of them.
    """

    level: int
    suppressed: int
    bound: Bound


@dataclass(eq=False)
class Node:
    """A box [low, high]; see `engine.utility.bounds.box_costs.Box`.

    Attributes
    ----------
    rows : BoxRows or None
        None if they were released to save memory.
    weights : float64, shape (parts, R)
    base : float64, shape (parts,)
        Bound by part, `bound` combines them.
    suppressed : int
        Records that every transformation of the box suppresses, including those in no row.
    pending : tuple, optional
        The step that makes a half of the parent box, if it is still to be done: whether it is the lower half, attribute
        and level.
    """

    low: Levels
    high: Levels
    rows: BoxRows | None
    ladders: Ladders
    minimum: int
    limit: int
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    base: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    bound: Bound = NO_BOUND
    suppressed: int = 0
    probes: dict[int, Probe] = field(default_factory=dict)
    pending: tuple[bool, int, int] | None = None

    @property
    def columns(self) -> Sequence[NDArray[np.int32]]:
        """See `Box.columns`."""
        return self.rows_of.columns

    @property
    def counts(self) -> NDArray[np.int64]:
        """See `Box.counts`."""
        return self.rows_of.table.counts

    @property
    def carried(self) -> NDArray[np.float64]:
        """See `Box.carried`."""
        return self.rows_of.carried

    @property
    def gid(self) -> NDArray[np.int32]:
        """See `Box.gid`."""
        return self.rows_of.gid

    @property
    def size(self) -> int:
        """See `Box.size`."""
        return self.rows_of.size

    @property
    def gone_records(self) -> int:
        """See `Box.gone_records`."""
        return self.rows_of.gone.records

    @property
    def gone_labels(self) -> Sequence[NDArray[np.int64]]:
        """See `Box.gone_labels`."""
        return self.rows_of.gone.labels

    @property
    def rows_of(self) -> BoxRows:
        """The rows, which must not have been released."""
        assert self.rows is not None  # noqa: S101 (boxes are made again before they are opened)
        return self.rows

    @property
    def classes(self) -> Classes:
        """The partition at the highest levels."""
        return self.rows_of.classes

    @property
    def bytes(self) -> int:
        """Memory of the rows and their weights."""
        return 0 if self.rows is None else self.rows.bytes + self.weights.nbytes

    def forget(self) -> None:
        """Release the rows."""
        self.rows = None
        self.weights = self.weights[:, :0]

    @property
    def levels(self) -> tuple[Levels, Levels]:
        """Lowest and highest levels, including the pending step."""
        if self.pending is None:
            return self.low, self.high
        lower, a, level = self.pending
        return (self.low, replaced(self.high, a, level)) if lower else (replaced(self.low, a, level), self.high)

    @property
    def free(self) -> list[int]:
        """Attributes with more than one remaining level."""
        return [a for a, (low, high) in enumerate(zip(self.low, self.high, strict=True)) if low < high]

    def probed(self, a: int) -> Probe:
        """Return what is known of the part in which an attribute is at its lowest level: no less than of the box."""
        probe = self.probes[a]
        return Probe(probe.level, max(probe.suppressed, self.suppressed), max(probe.bound, self.bound))

    def up(self, a: int, low: int, high: int) -> NDArray[np.int32]:
        """See `Box.up`."""
        return self.ladders.up(a, low, high)

    def lower(self, costs: BoxCosts, a: int, level: int) -> None:
        """Make `level` the highest of an attribute: it refines the classes."""
        up, width = self.ladders.up(a, self.low[a], level), self.ladders.width(a, level)
        self.rows = self.rows_of.refined(a, up, width)
        self.high = replaced(self.high, a, level)
        self.probes = {}
        self._fix(costs, a)

    def lift(self, costs: BoxCosts, a: int, level: int) -> None:
        """Make `level` the lowest of an attribute: rows are no longer distinguished below it."""
        old, column = self.low[a], self.rows_of.columns[a]
        base = self.base
        if costs.adds:
            base = costs.raised(self, base, a, level)
        self.rows = self.rows_of.raised(self.ladders, a, old, level)
        self.low = replaced(self.low, a, level)
        if costs.weighs:
            self.weights = costs.lifted(self, self.weights, a, old, column)
        self.base = base if costs.adds else costs.base(self)
        self._fix(costs, a)

    def _fix(self, costs: BoxCosts, a: int) -> None:
        if self.low[a] == self.high[a] and not costs.reads_fixed:
            self.rows = self.rows_of.forgetting(a)

    def roll_up(self, costs: BoxCosts) -> None:
        """Merge equal rows."""
        free = self.free
        self.rows, owner = self.rows_of.rolled_up(free, [self.ladders.width(a, self.low[a]) for a in free])
        if owner is None:
            return
        if not costs.weighs:
            self.weights = self.weights[:, : self.counts.size]
        elif costs.adds:
            self.weights = summed_weights(owner, self.counts.size, self.weights)
        else:
            self.weights = costs.weights(self)
        if not costs.adds:
            self.base = costs.base(self)

    def weigh(self, costs: BoxCosts) -> None:
        """Give the rows their weights and the box its base."""
        self.weights = costs.weights(self) if costs.weighs else np.zeros((1, self.counts.size))
        self.base = costs.base(self)

    def drop(self, costs: BoxCosts, fails: NDArray[np.bool_], sums: NDArray[np.float64]) -> None:
        """Drop the rows of failing classes, whose weights sum up to `sums`."""
        self.rows, self.weights = self.rows_of.without(fails, self.ladders, self.low, self.weights)
        self.base = self.base + sums if costs.adds and costs.weighs else costs.base(self)

    def half(self, a: int, level: int, bound: Bound, *, lower: bool) -> Node:
        """Return the half in which an attribute is at most, or at least, at a level; it still shares the rows."""
        probes = {} if lower else {b: probe for b, probe in self.probes.items() if b != a}
        node = copy.copy(self)
        node.bound, node.probes, node.pending = bound, probes, (lower, a, level)
        return node

    def at(self, costs: BoxCosts, levels: Levels) -> Node:
        """Return one transformation of the box, as a box."""
        node = copy.copy(self)
        node.probes, node.pending = {}, None
        for a, level in enumerate(levels):
            if level > node.low[a]:
                node.lift(costs, a, level)
        for a in node.free:
            node.lower(costs, a, node.low[a])
        return node

    def finish(self, costs: BoxCosts) -> None:
        """Do the pending step."""
        if self.pending is None:
            return
        lower, a, level = self.pending
        self.pending = None
        if lower:
            self.lower(costs, a, level)
        else:
            self.lift(costs, a, level)
            self.roll_up(costs)
