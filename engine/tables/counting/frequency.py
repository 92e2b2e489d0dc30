"""The frequency table: distinct quasi-identifier tuples with their counts and sensitive-value histograms.

In: batches of leaf codes. Out: a `FrequencyTable`, a sufficient statistic for every privacy model, measure and search
of the engine. Its rows are sorted by leaf codes, so no later step depends on the order of the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.kernels.histograms import distinct_values, merge_histograms
from engine.kernels.refine import class_counts, class_firsts, refine
from engine.lattice.space import Levels
from engine.tables.counting.histogram import Histogram
from engine.tables.counting.person_runs import PersonRuns


@dataclass(frozen=True, eq=False)
class FrequencyTable:
    """R distinct tuples of m quasi-identifiers.

    Attributes
    ----------
    attributes : tuple of str
        The quasi-identifiers, m of them.
    hierarchies : tuple of Hierarchy
        One per quasi-identifier.
    codes : int32, shape (m, R), C-contiguous
        Leaf codes.
    counts : int64, shape (R,)
        Records of the released table; 0 for a tuple that only the population has.
    first : int64, shape (R,)
        Rank of the first of these records in the order of the source; only the order of these numbers has a meaning.
    sensitive : mapping of attribute to Histogram
    population : int64, shape (R,), or None
        Records of the population, if the job has one.
    refused : bool, shape (R,), or None
        Rows whose records are suppressed by every transformation; they are in separate classes.
    persons : PersonRuns or None
        Whose the records are, if the job counts persons.
    """

    attributes: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    sensitive: Mapping[str, Histogram]
    population: NDArray[np.int64] | None = None
    refused: NDArray[np.bool_] | None = None
    persons: PersonRuns | None = None

    @cached_property
    def records(self) -> int:
        """Number of records of the released table, n of the definitions."""
        return int(self.counts.sum())

    @cached_property
    def leaf_records(self) -> tuple[NDArray[np.int64], ...]:
        """Records of each leaf code, shape (leaves,), by quasi-identifier."""
        pairs = zip(self.codes, self.hierarchies, strict=True)
        return tuple(class_counts(codes, hierarchy.codes.shape[1], self.counts) for codes, hierarchy in pairs)

    def without(self, rows: NDArray[np.int64]) -> FrequencyTable:
        """Return the table without the records of some rows, int64, shape (S,); the rows stay, with no record."""
        left = np.ones(self.counts.size, np.bool_)
        left[rows] = False
        sensitive = {name: histogram.of(left) for name, histogram in self.sensitive.items()}
        persons = None if self.persons is None else self.persons.without(left)
        return replace(self, counts=np.where(left, self.counts, 0), sensitive=sensitive, persons=persons)

    def partition(self, levels: Levels) -> Classes:
        """Group the rows into the equivalence classes of a transformation."""
        classes = self.undivided()
        for a, level in enumerate(levels):
            classes = classes.refined(a, level)
        return classes

    def undivided(self) -> Classes:
        """Return all rows as one class, except refused rows, which are another class."""
        if self.refused is None:
            return Classes(self, np.zeros(self.counts.size, np.int32), 1)
        gid = self.refused.astype(np.int32)
        return Classes(self, gid - gid.min(), len(set(gid.tolist())))


class Classes:
    """A partition of the rows of a frequency table into C classes.

    Attributes
    ----------
    table : FrequencyTable
    gid : int32, shape (R,)
        Class of each row.
    size : int
        Number of classes, C.
    """

    def __init__(self, table: FrequencyTable, gid: NDArray[np.int32], size: int) -> None:
        self.table = table
        self.gid = gid
        self.size = size
        self._counts: NDArray[np.int64] | None = None
        self._population: NDArray[np.int64] | None = None
        self._histograms: dict[str, Histogram] = {}
        self._persons: NDArray[np.int64] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per class, shape (C,)."""
        if self._counts is None:
            self._counts = class_counts(self.gid, self.size, self.table.counts)
        return self._counts

    @property
    def population(self) -> NDArray[np.int64]:
        """Records of the population per class, shape (C,)."""
        if self._population is None:
            assert self.table.population is not None  # noqa: S101 (only models with a population ask)
            self._population = class_counts(self.gid, self.size, self.table.population)
        return self._population

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """Whether a class has labels of people who may be in another class too, shape (C,): none of levels."""
        return np.zeros(self.size, np.bool_)

    @property
    def leaves_out(self) -> bool:
        """Whether people without a record have the labels of no class: with levels everybody has those of one."""
        return False

    @property
    def first(self) -> NDArray[np.int64]:
        """Rank of the first record of each class in the order of the source, shape (C,)."""
        return class_firsts(self.gid, self.size, self.table.first)

    @property
    def refused(self) -> NDArray[np.bool_]:
        """Return which classes have refused rows, shape (C,)."""
        rows = self.table.refused
        return self.holding(np.zeros(self.gid.size, np.bool_) if rows is None else rows)

    def holding(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which classes hold some of these rows, shape (C,); rows are indices, or bool with shape (R,)."""
        found = np.zeros(self.size, np.bool_)
        found[self.gid[rows]] = True
        return found

    def has_missing(self, attribute: str) -> bool:
        """Whether a record of the table lacks the sensitive value: then the first label is None."""
        return self.table.sensitive[attribute].labels[:1] == (None,)

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """Distinct sensitive values per class, shape (C,)."""
        if attribute in self._histograms:
            return np.diff(self._histograms[attribute].offsets)
        histogram = self.table.sensitive[attribute]
        found: NDArray[np.int64] = distinct_values(
            self.gid, self.size, histogram.offsets, histogram.values, len(histogram.labels)
        )
        return found

    def histogram(self, attribute: str) -> Histogram:
        """Sensitive values per class, merged from the rows."""
        if attribute not in self._histograms:
            rows = self.table.sensitive[attribute]
            merged = merge_histograms(self.gid, self.size, rows.offsets, rows.values, rows.counts, len(rows.labels))
            self._histograms[attribute] = Histogram(*merged, rows.totals, rows.labels, rows.hierarchy)
        return self._histograms[attribute]

    @property
    def persons(self) -> NDArray[np.int64]:
        """Distinct persons per class, shape (C,)."""
        if self._persons is None:
            self._persons = self._runs.count(self.gid, self.size)
        return self._persons

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """Classes of fewer than `least` distinct persons, shape (C,)."""
        return self._runs.fewer_than(least, self.gid, self.size)

    def person_histogram(self, attribute: str) -> Histogram:
        """Persons by sensitive value per class: each is counted once for each value that he or she has there."""
        rows = self.table.sensitive[attribute]
        merged = self._runs.by_value(attribute, self.gid, self.size)
        return Histogram(*merged, self._runs.values[attribute].totals, rows.labels, rows.hierarchy)

    @property
    def _runs(self) -> PersonRuns:
        assert self.table.persons is not None  # noqa: S101 (only jobs that count persons ask)
        return self.table.persons

    def of(self, table: FrequencyTable) -> Classes:
        """Return the same partition of a table with other records in the same rows."""
        return Classes(table, self.gid, self.size)

    def merged(self, classes: NDArray[np.bool_]) -> Classes:
        """Return the partition with some classes, bool, shape (C,), made one, which comes last."""
        if not classes.any():
            return self
        place = np.where(classes, (~classes).sum(), np.cumsum(~classes) - 1).astype(np.int32)
        return Classes(self.table, place[self.gid], int(place.max(initial=-1)) + 1)

    def divided(self, rows: NDArray[np.int64]) -> Classes:
        """Split each class into what is in these rows, indices, and what is not."""
        inside = np.zeros(self.gid.size, np.int32)
        inside[rows] = 1
        return Classes(self.table, *refine(self.gid, self.size, inside, np.arange(2, dtype=np.int32), 2))

    def refined(self, attribute: int, level: int) -> Classes:
        """Split the classes by one quasi-identifier at a level."""
        hierarchy = self.table.hierarchies[attribute]
        width = len(hierarchy.labels[level])
        if width == 1:
            return self
        gid, size = refine(self.gid, self.size, self.table.codes[attribute], hierarchy.codes[level], width)
        return Classes(self.table, gid, size)
