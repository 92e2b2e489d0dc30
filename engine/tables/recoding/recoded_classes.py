"""The cells of a local recoding beside a population: classes whose people are those of `covering`.

In: a table with a population, and the cell and the levels of each of its rows. Out: `Classes` that know their people,
which cells overlap, and whether somebody is in none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Levels
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.text_codes import text_codes
from engine.tables.recoding.covering import Coverage, coverage, people_of


class _Shown(NamedTuple):
    """The X classes whose records are shown: which they are, and their labels as of `coverage`."""

    cells: NDArray[np.intp]
    texts: NDArray[np.int32]
    stands_for: list[NDArray[np.bool_]]


class RecodedClasses(Classes):
    """The cells of a recoding beside a population.

    Parameters
    ----------
    table : FrequencyTable
        With a population.
    gid : int32, shape (P,)
    size : int
    levels : int8, shape (P, m), and the lowest and the highest levels allowed
    suppressed : int64, shape (S,)
        Rows that are suppressed: their cells cover nobody.
    star : int, optional
        The class of all of them, which is in the file: its people are those whom no other class covers.
    """

    def __init__(
        self,
        table: FrequencyTable,
        gid: NDArray[np.int32],
        size: int,
        levels: tuple[NDArray[np.int8], Levels, Levels],
        suppressed: NDArray[np.int64],
        star: int | None = None,
    ) -> None:
        super().__init__(table, gid, size)
        self._levels, self._suppressed, self._star = levels, suppressed, star
        self._labels: _Shown | None = None
        self._covered: Coverage | None = None

    @property
    def population(self) -> NDArray[np.int64]:
        """People of each class, shape (C,); 0 of one without a record that is shown."""
        if self._population is None:
            cells, found = self._shown().cells, self._coverage()
            self._population = np.zeros(self.size, np.int64)
            self._population[cells] = people_of(found, self.counts[cells])
            if self._star is not None:
                self._population[self._star] = self._people()[self._known()[found.uncovered]].sum()
        return self._population

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """See `Classes.overlapping`; so is a class that covers somebody whose record is suppressed."""
        shown, found = self._shown(), self._coverage()
        hidden = np.zeros(self.gid.size, np.bool_)
        hidden[self._suppressed] = True
        rows = np.flatnonzero(hidden & self._placed())
        of_hidden = coverage(shown.texts, shown.stands_for, self.table.codes[:, rows], np.ones(rows.size, np.int64))
        overlapping = np.zeros(self.size, np.bool_)
        overlapping[shown.cells] = (found.alone < found.covered) | (of_hidden.covered > 0)
        return overlapping

    @property
    def leaves_out(self) -> bool:
        """See `Classes.leaves_out`."""
        rows = self._known()[self._coverage().uncovered]
        return bool(rows.size) and not self.table.counts[rows].any()

    def of(self, table: FrequencyTable) -> Classes:
        """See `Classes.of`: rows without the records that they had are suppressed."""
        gone = np.union1d(self._suppressed, np.flatnonzero((self.table.counts > 0) & (table.counts == 0)))
        return RecodedClasses(table, self.gid, self.size, self._levels, gone, self._star)

    def merged(self, classes: NDArray[np.bool_]) -> Classes:
        """See `Classes.merged`: the classes that are made one are those of suppressed records."""
        whole = super().merged(classes)
        rows = np.flatnonzero(classes[self.gid] & (self.table.counts > 0))
        star = whole.size - 1 if classes.any() else None
        return RecodedClasses(self.table, whole.gid, whole.size, self._levels, rows, star)

    def _people(self) -> NDArray[np.int64]:
        assert self.table.population is not None  # noqa: S101 (else these are plain classes)
        return self.table.population

    def _placed(self) -> NDArray[np.bool_]:
        """Tell which rows have an entry in every hierarchy: nobody knows where other people belong."""
        return np.ones(self.gid.size, np.bool_) if self.table.refused is None else ~self.table.refused

    def _known(self) -> NDArray[np.intp]:
        """Return the rows with people."""
        return np.flatnonzero((self._people() > 0) & self._placed())

    def _coverage(self) -> Coverage:
        if self._covered is None:
            shown, rows = self._shown(), self._known()
            codes = np.ascontiguousarray(self.table.codes[:, rows])
            self._covered = coverage(shown.texts, shown.stands_for, codes, self._people()[rows])
        return self._covered

    def _shown(self) -> _Shown:
        if self._labels is None:
            levels, low, high = self._levels
            is_shown = (self.counts > 0) & ~self.holding(self._suppressed)
            rows = np.flatnonzero(is_shown[self.gid] & (self.table.counts > 0))
            cells, nth = np.unique(self.gid[rows], return_index=True)
            texts, stands_for = np.empty((cells.size, len(low)), np.int32), []
            for a, hierarchy in enumerate(self.table.hierarchies):
                of_level = text_codes(hierarchy)
                used, texts[:, a] = np.unique(
                    of_level[levels[rows[nth], a], self.table.codes[a][rows[nth]]], return_inverse=True
                )
                allowed = of_level[low[a] : high[a] + 1]
                meant = [(allowed == text).any(axis=0) for text in used.tolist()]
                stands_for.append(np.array(meant, np.bool_).reshape(used.size, allowed.shape[1]))
            self._labels = _Shown(cells.astype(np.intp), texts, stands_for)
        return self._labels
