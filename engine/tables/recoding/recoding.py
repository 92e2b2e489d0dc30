"""A local recoding of a frequency table: a cell, of one label per quasi-identifier, for each tuple or part of it.

In: the pieces of the tuples, with the levels of each. Out: a table with a row per piece, and a `Recoding` of its rows:
which of them share a cell, and at which level each of their values stands. Cells are equal where their labels are, at
whatever levels: so they are to whoever holds the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.kernels.tuples import index_tuples
from engine.lattice.space import Levels
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.histogram import Histogram
from engine.tables.counting.text_codes import text_codes
from engine.tables.recoding.recoded_classes import RecodedClasses


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
        return RecodedClasses(table, self.gid, self.size, (self.levels, self.low, self.high), suppressed)

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


def _taken(histogram: Histogram, rows: NDArray[np.int64]) -> Histogram:
    """Return the sensitive values of these rows, in their order."""
    lengths = np.diff(histogram.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.repeat(histogram.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return replace(histogram, offsets=offsets, values=histogram.values[inside], counts=histogram.counts[inside])
