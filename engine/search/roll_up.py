"""Checks that start from the classes of a transformation checked before instead of the rows of the table.

Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash: efficient, stable and optimal k-anonymity. PASSAT 2012, section IV
(roll-up); the idea is of LeFevre, DeWitt, Ramakrishnan, Incognito. SIGMOD 2005, section 3. The classes of a
transformation are unions of those of any of its specializations, so that its counts and histograms are sums of theirs.
A snapshot keeps the classes of a transformation as rows of a smaller table. Of the snapshots that are specializations
the one with fewest rows is taken; they live within a number of bytes, and those unused for longest go first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.frequency import Classes, FrequencyTable, Histogram
from engine.lattice.space import Lattice, Levels
from engine.search.algorithm import Problem
from engine.search.box_rows import BoxRows, Ladders, all_rows
from engine.search.check import Check, Checker

_MEMORY = 256 * 1024 * 1024
# Making a snapshot costs about what it saves in one later check, if it has half the rows of the one it came from.
_WORTH_KEEPING = 0.5
_UNUSED = np.iinfo(np.int32).max


class RollUpChecker(Checker):
    """A `Checker` that finds the same from fewer rows. It is used by one thread at a time.

    Parameters
    ----------
    memory : int
        Bytes that snapshots may take, beside the one of the lattice's lowest transformation.
    """

    def __init__(self, problem: Problem, memory: int = _MEMORY) -> None:
        super().__init__(problem)
        self.snapshots = Snapshots(problem.table, problem.lattice, memory)

    def partition(self, levels: Levels) -> Classes:
        """Return the partition of a transformation of the lattice."""
        return self.snapshots.partition(levels)

    def check(self, levels: Levels, classes: Classes | None = None) -> Check:
        """See `Checker.check`."""
        return super().check(levels, self.partition(levels) if classes is None else classes)


class RolledClasses(Classes):
    """A partition of the rows of the whole table, counted on those of a snapshot.

    Parameters
    ----------
    table : FrequencyTable
        The whole table, R rows.
    owner : int32, shape (R,)
        Row of the snapshot that each row is part of.
    rolled : Classes
        The partition of the snapshot's rows.
    """

    def __init__(self, table: FrequencyTable, owner: NDArray[np.int32], rolled: Classes) -> None:
        super().__init__(table, rolled.gid[owner], rolled.size)
        self._rolled = rolled

    @property
    def counts(self) -> NDArray[np.int64]:
        """See `Classes.counts`."""
        return self._rolled.counts

    @property
    def population(self) -> NDArray[np.int64]:
        """See `Classes.population`."""
        return self._rolled.population

    @property
    def first(self) -> NDArray[np.int64]:
        """See `Classes.first`."""
        return self._rolled.first

    @property
    def refused(self) -> NDArray[np.bool_]:
        """See `Classes.refused`."""
        return self._rolled.refused

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """See `Classes.distinct`."""
        return self._rolled.distinct(attribute)

    def histogram(self, attribute: str) -> Histogram:
        """See `Classes.histogram`."""
        return self._rolled.histogram(attribute)


@dataclass(frozen=True, eq=False)
class _Snapshot:
    """The classes of one transformation as the rows of a table; `owner` tells the row each one of the table is in."""

    levels: Levels
    rows: BoxRows
    owner: NDArray[np.int32]

    @property
    def bytes(self) -> int:
        return self.rows.bytes + self.owner.nbytes


class Snapshots:
    """Snapshots of one table; the one of the lattice's lowest transformation is always there.

    Attributes
    ----------
    bytes : int
        Memory of the others.
    rows_read : int
        Rows that were grouped so far: what partitions cost.
    """

    def __init__(self, table: FrequencyTable, lattice: Lattice, memory: int) -> None:
        self._table = table
        self._memory = memory
        self._ladders = Ladders(table.hierarchies)
        self._root = self._lowest(lattice.low)
        # by slot, in the order of their last use, so that all levels are compared in one pass
        self._kept: OrderedDict[int, _Snapshot] = OrderedDict()
        self._free: list[int] = []
        self._levels = np.empty((0, len(lattice.low)), np.int32)
        self._sizes = np.empty(0, np.int64)
        self.bytes = 0
        self.rows_read = 0

    def partition(self, levels: Levels) -> Classes:
        """Return the partition of a transformation, and keep a snapshot of it if that is worth it."""
        source = self._cheapest(levels)
        rows = source.rows
        for a, (low, high) in enumerate(zip(source.levels, levels, strict=True)):
            rows = rows.refined(a, self._ladders.up(a, low, high), self._ladders.width(a, high))
        self.rows_read += rows.gid.size
        if rows.size <= _WORTH_KEEPING * rows.gid.size:
            self._keep(self._merged(source, rows, levels))
        return RolledClasses(self._table, source.owner, rows.classes)

    def _lowest(self, low: Levels) -> _Snapshot:
        rows, owner = all_rows(self._table, self._ladders, low, low, first=True).rolled_up([], [])
        if owner is None:
            owner = np.arange(self._table.counts.size, dtype=np.int32)
        return _Snapshot(low, _undivided(rows), owner)

    def _merged(self, source: _Snapshot, rows: BoxRows, levels: Levels) -> _Snapshot:
        merged, owner = rows.rolled_up([], [])
        assert owner is not None  # noqa: S101 (there are fewer classes than rows)
        for a, (low, high) in enumerate(zip(source.levels, levels, strict=True)):
            if low < high:
                merged = merged.raised(self._ladders, a, low, high)
        return _Snapshot(levels, _undivided(merged), owner[source.owner])

    def _cheapest(self, levels: Levels) -> _Snapshot:
        below = np.flatnonzero((self._levels <= np.array(levels, np.int32)).all(axis=1))
        if not below.size:
            return self._root
        slot = int(below[self._sizes[below].argmin()])
        self._kept.move_to_end(slot)
        return self._kept[slot]

    def _keep(self, snapshot: _Snapshot) -> None:
        if snapshot.bytes > self._memory:
            return
        while self.bytes + snapshot.bytes > self._memory:
            self._drop_oldest()
        slot = self._slot()
        self._kept[slot] = snapshot
        self._levels[slot] = snapshot.levels
        self._sizes[slot] = snapshot.rows.gid.size
        self.bytes += snapshot.bytes

    def _drop_oldest(self) -> None:
        slot, dropped = self._kept.popitem(last=False)
        self._levels[slot] = _UNUSED
        self._free.append(slot)
        self.bytes -= dropped.bytes

    def _slot(self) -> int:
        if not self._free:
            used = len(self._sizes)
            more = max(16, used)
            self._levels = np.concatenate([self._levels, np.full((more, self._levels.shape[1]), _UNUSED, np.int32)])
            self._sizes = np.concatenate([self._sizes, np.zeros(more, np.int64)])
            self._free = list(range(used, used + more))
        return self._free.pop()


def _undivided(rows: BoxRows) -> BoxRows:
    start = rows.table.undivided()
    return replace(rows, gid=start.gid, size=start.size)
