"""Checks that start from the classes of an earlier transformation instead of the rows of the table.

Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash: efficient, stable and optimal k-anonymity. PASSAT 2012, section IV
(roll-up); the idea is of LeFevre, DeWitt, Ramakrishnan, Incognito. SIGMOD 2005, section 3. The classes of a
transformation are unions of those of any of its specializations, so its counts and histograms are sums of theirs. A
snapshot keeps the classes of a transformation as rows of a smaller table. Of the snapshots that are specializations the
one with fewest rows is used. The memory of all snapshots is limited; the least recently used ones are removed first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels.boxes import recoded
from engine.kernels.refine import refine
from engine.lattice.space import Lattice, Levels
from engine.search.boxes.box_rows import Ladders, merged_table
from engine.search.check import Check, Checker
from engine.search.problem import Problem
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.histogram import Histogram

_MEMORY = 256 * 1024 * 1024
# Making a snapshot costs about as much as a check, so it must make later checks much cheaper.
_WORTH_KEEPING = 0.5
_UNUSED = np.iinfo(np.int32).max


class RollUpChecker(Checker):
    """A `Checker` that gets the same results from fewer rows. It is used by one thread at a time.

    Parameters
    ----------
    memory : int
        Bytes for snapshots, without that of the lattice's lowest transformation.
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
    gid : int32, shape (R,)
        Class of each row.
    rolled : Classes
        The same classes as a partition of the snapshot's rows.
    """

    def __init__(self, table: FrequencyTable, gid: NDArray[np.int32], rolled: Classes) -> None:
        super().__init__(table, gid, rolled.size)
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

    @property
    def persons(self) -> NDArray[np.int64]:
        """See `Classes.persons`."""
        return self._rolled.persons

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """See `Classes.fewer_persons_than`."""
        return self._rolled.fewer_persons_than(least)

    def person_histogram(self, attribute: str) -> Histogram:
        """See `Classes.person_histogram`."""
        return self._rolled.person_histogram(attribute)


@dataclass(frozen=True, eq=False)
class _Snapshot:
    """The classes of one transformation as the rows of a table, C of them.

    Attributes
    ----------
    columns : tuple of int32 arrays, shape (C,)
        Label codes, one array per attribute.
    table : FrequencyTable
        Counts, histograms and population of the rows.
    owner : int32, shape (R,), or None
        The row of the snapshot for each row of the whole table; None if they are the same.
    """

    levels: Levels
    columns: tuple[NDArray[np.int32], ...]
    table: FrequencyTable
    owner: NDArray[np.int32] | None

    @property
    def bytes(self) -> int:
        table = self.table
        arrays: list[NDArray[Any]] = [*self.columns, table.counts, table.first]
        arrays += [array for array in (self.owner, table.population, table.refused) if array is not None]
        for histogram in table.sensitive.values():
            arrays += [histogram.offsets, histogram.values, histogram.counts]
        arrays += [] if table.persons is None else table.persons.arrays
        return sum(array.nbytes for array in arrays)

    def expanded(self, gid: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class of each row of the whole table, shape (R,), from that of each row of the snapshot."""
        return gid if self.owner is None else gid[self.owner]


class Snapshots:
    """Snapshots of one table; that of the lattice's lowest transformation always exists.

    Attributes
    ----------
    bytes : int
        Memory of the others.
    rows_read : int
        Rows that were grouped so far: the cost of partitions.
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
        """Return the partition of a transformation, and keep a snapshot of it if this pays off."""
        source = self._cheapest(levels)
        classes = self._grouped(source, levels)
        self.rows_read += classes.gid.size
        owner = source.expanded(classes.gid)
        if classes.size <= _WORTH_KEEPING * classes.gid.size:
            self._keep(self._merged(source, classes, levels, owner))
        return RolledClasses(self._table, owner, classes)

    def _lowest(self, low: Levels) -> _Snapshot:
        codes = self._table.codes
        columns = tuple(h.codes[low[a]][codes[a]] for a, h in enumerate(self._table.hierarchies))
        rows = _Snapshot(low, columns, self._table, None)
        classes = self._grouped(rows, low)
        if classes.size == classes.gid.size:
            return rows
        return self._merged(rows, classes, low, classes.gid)

    def _grouped(self, source: _Snapshot, levels: Levels) -> Classes:
        """Group the rows of a snapshot into the classes of one of its generalizations."""
        start = source.table.undivided()
        gid, size = start.gid, start.size
        for a, (low, high) in enumerate(zip(source.levels, levels, strict=True)):
            width = self._ladders.width(a, high)
            if width > 1:
                gid, size = refine(gid, size, source.columns[a], self._ladders.up(a, low, high), width)
        return Classes(source.table, gid, size)

    def _merged(self, source: _Snapshot, classes: Classes, levels: Levels, owner: NDArray[np.int32]) -> _Snapshot:
        member = np.empty(classes.size, np.int64)
        member[classes.gid] = np.arange(classes.gid.size)
        columns = tuple(
            recoded(column[member], self._ladders.up(a, low, high))
            for a, (column, low, high) in enumerate(zip(source.columns, source.levels, levels, strict=True))
        )
        return _Snapshot(levels, columns, merged_table(source.table, classes.gid, member), owner)

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
        self._sizes[slot] = snapshot.table.counts.size
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
