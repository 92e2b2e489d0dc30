"""The rows of a box of the lattice: distinct tuples at its lowest levels, in the classes of its highest.

A row represents all tuples that are equal at the box's lowest levels and in one class at its highest levels: it has
their merged counts and histograms (roll-up: Kohlmayer et al., Flash, PASSAT 2012, section IV). Codes are those of
labels at the lowest levels, one column per attribute. Rows that every transformation of the box suppresses are dropped;
only a count per label remains of them (`Gone`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.kernels.boxes import extend_keys, merged_keys, recoded, summed_weights
from engine.kernels.histograms import merge_histograms
from engine.kernels.label_maps import label_map
from engine.kernels.refine import class_counts, class_firsts, refine
from engine.lattice.space import Levels
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.histogram import Histogram

_LARGEST = (1 << 63) - 1


class Ladders:
    """Maps from the label codes of one level to those of a higher one, for each attribute."""

    def __init__(self, hierarchies: Sequence[Hierarchy]) -> None:
        self._codes = [hierarchy.codes for hierarchy in hierarchies]
        self._widths = [[len(labels) for labels in hierarchy.labels] for hierarchy in hierarchies]
        self._maps: dict[tuple[int, int, int], NDArray[np.int32]] = {}

    def width(self, a: int, level: int) -> int:
        """Return the number of labels of a level."""
        return self._widths[a][level]

    def up(self, a: int, low: int, high: int) -> NDArray[np.int32]:
        """Return the code at level `high` of each label code at level `low`."""
        known = self._maps.get((a, low, high))
        if known is None:
            known = label_map(self._codes[a][low], self._codes[a][high], self._widths[a][low])
            self._maps[a, low, high] = known
        return known


@dataclass(frozen=True, eq=False)
class Gone:
    """Records that every transformation of a box suppresses.

    Attributes
    ----------
    records : int
    labels : tuple of int64 arrays
        Records by label code at the box's lowest level, one array per attribute.
    """

    records: int
    labels: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, eq=False)
class BoxRows:
    """R rows of m attributes, in C classes.

    Attributes
    ----------
    columns : tuple of int32 arrays, shape (R,)
        Label codes at the lowest levels of the box, one array per attribute; empty for an attribute that is no longer
        needed.
    table : FrequencyTable
        Counts, histograms and population of the rows, without columns.
    carried : float64, shape (carried, R)
        Further figures of the measure per row.
    gid : int32, shape (R,)
        Class of each row at the highest levels of the box.
    size : int
        Number of classes, C.
    gone : Gone
    """

    columns: tuple[NDArray[np.int32], ...]
    table: FrequencyTable
    carried: NDArray[np.float64]
    gid: NDArray[np.int32]
    size: int
    gone: Gone

    @property
    def classes(self) -> Classes:
        """The partition at the highest levels."""
        return Classes(self.table, self.gid, self.size)

    @property
    def bytes(self) -> int:
        """Memory of the rows."""
        arrays: list[NDArray[Any]] = [
            *self.columns,
            self.carried,
            self.gid,
            self.table.counts,
            self.table.first,
            *self.gone.labels,
        ]
        for histogram in self.table.sensitive.values():
            arrays += [histogram.offsets, histogram.values, histogram.counts]
        arrays += [] if self.table.persons is None else self.table.persons.arrays
        return sum(array.nbytes for array in arrays)

    def refined(self, a: int, codes: NDArray[np.int32], width: int) -> BoxRows:
        """Split the classes by an attribute; `codes` maps its labels to `width` codes."""
        if width == 1:
            return self
        gid, size = refine(self.gid, self.size, self.columns[a], codes, width)
        return BoxRows(self.columns, self.table, self.carried, gid, size, self.gone)

    def forgetting(self, a: int) -> BoxRows:
        """Drop the codes of an attribute."""
        columns = (*self.columns[:a], self.columns[a][:0], *self.columns[a + 1 :])
        return BoxRows(columns, self.table, self.carried, self.gid, self.size, self.gone)

    def _keys(self, free: Sequence[int], widths: Sequence[int]) -> NDArray[np.int64]:
        """Return a number for each row that is the same only for equal rows."""
        keys, possible = self.gid.astype(np.int64), self.size
        for a, width in zip(free, widths, strict=True):
            if possible * width > _LARGEST:
                # few of the possible keys occur: these get the first numbers
                owner, first = merged_keys(keys)
                keys, possible = owner.astype(np.int64), int(first.size)
            extend_keys(keys, self.columns[a], width)
            possible *= width
        return keys

    def without(
        self, fails: NDArray[np.bool_], ladders: Ladders, low: Levels, weights: NDArray[np.float64]
    ) -> tuple[BoxRows, NDArray[np.float64]]:
        """Drop the rows of failing classes. Return the other rows and their weights."""
        failing = fails[self.gid]
        keep, drop = np.flatnonzero(~failing), np.flatnonzero(failing)
        counts = self.table.counts[drop]
        labels = tuple(
            known + class_counts(column[drop], ladders.width(a, level), counts) if column.size else known
            for a, (known, column, level) in enumerate(zip(self.gone.labels, self.columns, low, strict=True))
        )
        place = np.cumsum(~fails, dtype=np.int32) - np.int32(1)
        rows = BoxRows(
            tuple(column[keep] if column.size else column for column in self.columns),
            _selected(self.table, keep),
            np.ascontiguousarray(self.carried[:, keep]),
            place[self.gid[keep]],
            int(fails.size - fails.sum()),
            Gone(self.gone.records + int(counts.sum()), labels),
        )
        return rows, np.ascontiguousarray(weights[:, keep])

    def raised(self, ladders: Ladders, a: int, old: int, new: int) -> BoxRows:
        """Express the codes of an attribute at a higher lowest level."""
        up = ladders.up(a, old, new)
        labels = class_counts(up, ladders.width(a, new), self.gone.labels[a])
        gone = Gone(self.gone.records, (*self.gone.labels[:a], labels, *self.gone.labels[a + 1 :]))
        columns = (*self.columns[:a], recoded(self.columns[a], up), *self.columns[a + 1 :])
        return BoxRows(columns, self.table, self.carried, self.gid, self.size, gone)

    def rolled_up(self, free: Sequence[int], widths: Sequence[int]) -> tuple[BoxRows, NDArray[np.int32] | None]:
        """Merge equal rows; the classes already distinguish columns that are not free.

        Also return the new row of each old one, None if no row changes. `widths` are the numbers of labels of
        the free columns.
        """
        owner, first = merged_keys(self._keys(free, widths))
        if first.size == owner.size:
            return self, None
        table = merged_table(self.table, owner, first)
        merged = tuple(column[first] if column.size else column for column in self.columns)
        carried = summed_weights(owner, int(first.size), self.carried)
        return BoxRows(merged, table, carried, self.gid[first], self.size, self.gone), owner


def all_rows(
    table: FrequencyTable,
    ladders: Ladders,
    low: Levels,
    high: Levels,
    *,
    first: bool,
    carried: NDArray[np.float64] | None = None,
) -> BoxRows:
    """Return the rows of the box of all transformations from `low` to `high`; `first` if their order is needed."""
    columns = tuple(hierarchy.codes[low[a]][table.codes[a]] for a, hierarchy in enumerate(table.hierarchies))
    start = table.undivided()
    gone = Gone(0, tuple(np.zeros(ladders.width(a, level), np.int64) for a, level in enumerate(low)))
    bare = replace(table, attributes=(), hierarchies=(), codes=np.empty((0, table.counts.size), np.int32))
    if not first:
        bare = replace(bare, first=bare.first[:0])
    if carried is None:
        carried = np.empty((0, table.counts.size))
    rows = BoxRows(columns, bare, carried, start.gid, start.size, gone)
    for a, (below, above) in enumerate(zip(low, high, strict=True)):
        rows = rows.refined(a, ladders.up(a, below, above), ladders.width(a, above))
    return rows


def _selected(table: FrequencyTable, rows: NDArray[np.int64]) -> FrequencyTable:
    return replace(
        table,
        codes=np.empty((0, rows.size), np.int32),
        counts=table.counts[rows],
        first=table.first[rows] if table.first.size else table.first,
        sensitive={name: _rows_of(histogram, rows) for name, histogram in table.sensitive.items()},
        population=None if table.population is None else table.population[rows],
        refused=None if table.refused is None else table.refused[rows],
        persons=None if table.persons is None else table.persons.selected(rows),
    )


def _rows_of(histogram: Histogram, rows: NDArray[np.int64]) -> Histogram:
    sizes = np.diff(histogram.offsets)[rows]
    offsets = np.zeros(rows.size + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    source = np.arange(offsets[-1]) + np.repeat(histogram.offsets[rows] - offsets[:-1], sizes)
    return replace(histogram, offsets=offsets, values=histogram.values[source], counts=histogram.counts[source])


def merged_table(table: FrequencyTable, owner: NDArray[np.int32], first: NDArray[np.int64]) -> FrequencyTable:
    """Merge the rows of a table: `owner` gives the new row of each, `first` a row of each new one."""
    pairs = int(first.size)
    return replace(
        table,
        codes=np.empty((0, pairs), np.int32),
        counts=class_counts(owner, pairs, table.counts),
        first=class_firsts(owner, pairs, table.first) if table.first.size else table.first,
        sensitive={name: _merged_histogram(histogram, owner, pairs) for name, histogram in table.sensitive.items()},
        population=None if table.population is None else class_counts(owner, pairs, table.population),
        refused=None if table.refused is None else table.refused[first],
        persons=None if table.persons is None else table.persons.merged(owner, pairs),
    )


def _merged_histogram(histogram: Histogram, owner: NDArray[np.int32], pairs: int) -> Histogram:
    offsets, values, counts = merge_histograms(
        owner, pairs, histogram.offsets, histogram.values, histogram.counts, len(histogram.labels)
    )
    return replace(histogram, offsets=offsets, values=values, counts=counts)
