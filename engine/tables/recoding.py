"""A local recoding of a frequency table: a cell, of one label per quasi-identifier, for each tuple or part of it.

In: the pieces of the tuples, with the levels of each. Out: a table with a row per piece, and a `Recoding` of its rows:
which of them share a cell, and at which level each of their values stands. Cells are equal where their labels are, at
whatever levels: so they are to whoever holds the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.kernels.tuples import index_tuples
from engine.lattice.space import Levels
from engine.tables.covering import Coverage, coverage, people_of
from engine.tables.frequency import Classes, FrequencyTable, Histogram


@dataclass(frozen=True, eq=False)
class Recoding:
    """The cell of each row of a table.

    Attributes
    ----------
    gid : int32, shape (P,)
        Cell of each row, 0 to `size` - 1; suppressed rows share none with others.
    size : int
    levels : int8, shape (P, m)
        Level at which each quasi-identifier of a row is shown: the lowest allowed that has the label for as many
        values.
    of_record : int64, shape (n,), optional
        Row of each record, in the order of the source; without it chance decides which records of a tuple are of which
        of its rows.
    low, high : one level per quasi-identifier
        The lowest and the highest allowed; not needed of a table without a population.
    """

    gid: NDArray[np.int32]
    size: int
    levels: NDArray[np.int8]
    of_record: NDArray[np.int64] | None = None
    low: Levels = ()
    high: Levels = ()

    def partition(self, table: FrequencyTable, suppressed: NDArray[np.int64]) -> Classes:
        """Group the rows of its table into cells.

        Parameters
        ----------
        suppressed : int64, shape (S,)
            Rows of the table that are suppressed.
        """
        if table.population is None:
            return Classes(table, self.gid, self.size)
        return RecodedClasses(table, self, self.gid, self.size, suppressed)

    def of_rows(self, rows: NDArray[np.bool_]) -> Recoding:
        """Return the recoding of some rows, bool, shape (P,)."""
        cells, gid = np.unique(self.gid[rows], return_inverse=True)
        return Recoding(gid.astype(np.int32), cells.size, self.levels[rows], None, self.low, self.high)

    def shares(self, table: FrequencyTable, suppressed: NDArray[np.int64]) -> dict[str, list[float]]:
        """Return, for each quasi-identifier, the share of the records at each level, those suppressed not counted."""
        kept = table.counts.astype(np.float64)
        kept[suppressed] = 0.0
        total = float(kept.sum())
        return {
            name: (
                np.bincount(self.levels[:, a], weights=kept, minlength=hierarchy.level_count) / (total or 1.0)
            ).tolist()
            for a, (name, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True))
        }


class RecodedClasses(Classes):
    """The cells of a recoding beside a population, whose people are those of cells that overlap (`covering`).

    Parameters
    ----------
    table : FrequencyTable
        With a population.
    recoding : Recoding
        Of its rows.
    gid : int32, shape (P,)
    size : int
    suppressed : int64, shape (S,)
        Rows that are suppressed: their cells cover nobody.
    star : int, optional
        The class of all suppressed records, which is in the file: its people are those whom no other class covers.
    """

    def __init__(
        self,
        table: FrequencyTable,
        recoding: Recoding,
        gid: NDArray[np.int32],
        size: int,
        suppressed: NDArray[np.int64],
        star: int | None = None,
    ) -> None:
        super().__init__(table, gid, size)
        self._recoding, self._suppressed, self._star = recoding, suppressed, star
        self._found: tuple[NDArray[np.intp], NDArray[np.intp], Coverage] | None = None

    @property
    def population(self) -> NDArray[np.int64]:
        """People of each class, shape (C,); 0 of one without a record that is shown."""
        if self._population is None:
            assert self.table.population is not None  # noqa: S101 (else it is of plain classes)
            cells, people, found = self._covered()
            self._population = np.zeros(self.size, np.int64)
            self._population[cells] = people_of(found, self.counts[cells])
            if self._star is not None:
                self._population[self._star] = self.table.population[people[found.uncovered]].sum()
        return self._population

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """See `Classes.overlapping`."""
        cells, _, found = self._covered()
        overlapping = np.zeros(self.size, np.bool_)
        overlapping[cells] = found.alone < found.covered
        return overlapping

    @property
    def leaves_out(self) -> bool:
        """See `Classes.leaves_out`."""
        _, people, found = self._covered()
        rows = people[found.uncovered]
        return bool(rows.size) and not self.table.counts[rows].any()

    def of(self, table: FrequencyTable) -> Classes:
        """See `Classes.of`."""
        return RecodedClasses(table, self._recoding, self.gid, self.size, self._suppressed, self._star)

    def merged(self, classes: NDArray[np.bool_]) -> Classes:
        """See `Classes.merged`: the classes that are made one are those of suppressed records."""
        whole = super().merged(classes)
        star = whole.size - 1 if classes.any() else None
        return RecodedClasses(self.table, self._recoding, whole.gid, whole.size, self._suppressed[:0], star)

    def _covered(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Coverage]:
        """Return the classes whose records are shown, the rows with people, and whom the classes cover."""
        if self._found is None:
            self._found = self._counted()
        return self._found

    def _counted(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Coverage]:
        table, recoding = self.table, self._recoding
        shown = (self.counts > 0) & ~self.holding(self._suppressed)
        if self._star is not None:
            shown[self._star] = False
        rows = np.flatnonzero(shown[self.gid] & (table.counts > 0))
        found, nth = np.unique(self.gid[rows], return_index=True)
        cells = found.astype(np.intp)
        texts = np.empty((cells.size, len(table.hierarchies)), np.int32)
        stands_for = []
        for a, hierarchy in enumerate(table.hierarchies):
            of_level = text_codes(hierarchy)
            own = of_level[recoding.levels[rows[nth], a], table.codes[a][rows[nth]]]
            used, place = np.unique(own, return_inverse=True)
            texts[:, a] = place
            allowed = of_level[recoding.low[a] : recoding.high[a] + 1]
            stands_for.append(np.array([(allowed == text).any(axis=0) for text in used.tolist()], np.bool_))
        assert table.population is not None  # noqa: S101 (else it is of plain classes)
        known = table.population > 0
        if table.refused is not None:
            # nobody knows where people belong whose values have no entry
            known &= ~table.refused
        people = np.flatnonzero(known)
        codes = np.ascontiguousarray(table.codes[:, people])
        return cells, people, coverage(texts, stands_for, codes, table.population[people])


def in_pieces(table: FrequencyTable, tuples: NDArray[np.int64], records: NDArray[np.int64]) -> FrequencyTable:
    """Return the table with a row per piece of a tuple.

    Parameters
    ----------
    tuples : int64, shape (P,)
        Row of the table of each piece.
    records : int64, shape (P,)
        Records of each piece. The sensitive values of parts of a tuple are not known: pieces of tables with sensitive
        values are whole tuples. The people of a population with a tuple stand at its first piece.
    """
    if table.sensitive and not np.array_equal(records, table.counts[tuples]):
        raise ValueError("records: the sensitive values of a part of a tuple are not known")
    population = None
    if table.population is not None:
        _, first = np.unique(tuples, return_index=True)
        population = np.zeros(tuples.size, np.int64)
        population[first] = table.population[tuples[first]]
    return replace(
        table,
        codes=np.ascontiguousarray(table.codes[:, tuples]),
        counts=records.astype(np.int64),
        first=table.first[tuples],
        sensitive={name: _taken(histogram, tuples) for name, histogram in table.sensitive.items()},
        population=population,
        refused=None if table.refused is None else table.refused[tuples],
    )


def recoding_of(
    table: FrequencyTable,
    levels: NDArray[np.integer],
    low: Levels,
    suppressed: NDArray[np.int64],
    high: Levels = (),
) -> Recoding:
    """Return the recoding that shows each row of a table at these levels.

    Parameters
    ----------
    levels : int, shape (P, m)
    low : one level per quasi-identifier
        The lowest allowed.
    suppressed : int64, shape (S,)
        Rows that are suppressed: they share no cell with others, whatever their labels.
    high : one level per quasi-identifier, optional
        The highest allowed; needed beside a population.
    """
    texts = np.empty((levels.shape[0], len(table.hierarchies)), np.int32)
    lowest = np.empty(levels.shape, np.int8)
    for a, hierarchy in enumerate(table.hierarchies):
        of_level, rows = text_codes(hierarchy), hierarchy.leaf_rows()
        leaves = table.codes[a]
        texts[:, a] = of_level[levels[:, a], leaves]
        lowest[:, a] = levels[:, a]
        for level in range(hierarchy.level_count - 1, low[a] - 1, -1):
            # one text may mean more at a higher level: then it is that
            alike = of_level[level, leaves] == texts[:, a]
            alike &= rows[level, leaves] == rows[levels[:, a], leaves]
            lowest[alike & (level < levels[:, a]), a] = level
    apart = np.zeros(texts.shape[0], np.int32)
    apart[suppressed] = 1
    group, first, _ = index_tuples(np.ascontiguousarray(np.column_stack([texts, apart])))
    return Recoding(group.astype(np.int32), first.size, lowest, None, low, high)


def text_codes(hierarchy: Hierarchy) -> NDArray[np.int32]:
    """Return codes of the labels that are equal at all levels for equal texts, int32, shape (levels, leaves)."""
    code: dict[str | None, int] = {}
    return np.array(
        [
            np.array([code.setdefault(label, len(code)) for label in labels], np.int32)[codes]
            for labels, codes in zip(hierarchy.labels, hierarchy.codes, strict=True)
        ],
        np.int32,
    )


def _taken(histogram: Histogram, rows: NDArray[np.int64]) -> Histogram:
    """Return the sensitive values of these rows, in their order."""
    lengths = np.diff(histogram.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.repeat(histogram.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return replace(histogram, offsets=offsets, values=histogram.values[inside], counts=histogram.counts[inside])
