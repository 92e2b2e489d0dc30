"""The frequency table: distinct quasi-identifier tuples with their counts and sensitive-value histograms.

In: batches of leaf codes. Out: a `FrequencyTable`, a sufficient statistic for every privacy model, measure and search
of the engine. Its rows are sorted by leaf codes, so no later step depends on the order of the records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.kernels.histograms import distinct_values, merge_histograms
from engine.kernels.refine import class_counts, class_firsts, refine
from engine.lattice.space import Levels
from engine.tables.person_runs import PersonRuns


@dataclass(frozen=True, eq=False)
class Histogram:
    """Sensitive values per row, sparse.

    Row r holds `values[offsets[r]:offsets[r + 1]]` (codes into `labels`, in the attribute's order, int32, ascending)
    with `counts` records each (int64). `totals` (int64, shape (labels,)) counts the whole table; `hierarchy` is that of
    the attribute, for models that need one.
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    labels: tuple[Label, ...]
    hierarchy: Hierarchy | None = None

    def of(self, rows: NDArray[np.bool_]) -> Histogram:
        """Return the values of some rows, bool, shape (R,); the others are empty, values that are gone have no code."""
        lengths = np.diff(self.offsets)
        inside = np.repeat(rows, lengths)
        values, counts = self.values[inside], self.counts[inside]
        totals = np.zeros(len(self.labels), np.int64)
        np.add.at(totals, values, counts)
        there = totals > 0
        codes = (np.cumsum(there) - 1).astype(np.int32)
        return Histogram(
            np.concatenate([[0], np.cumsum(np.where(rows, lengths, 0))]),
            codes[values],
            counts,
            totals[there],
            tuple(label for label, left in zip(self.labels, there.tolist(), strict=True) if left),
            self.hierarchy,
        )


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


@dataclass(frozen=True, eq=False)
class PresentClasses:
    """The P classes of a partition that have records, in its order: these are judged by privacy models.

    Attributes
    ----------
    there : bool, shape (C,)
        Which classes of the partition they are.
    """

    _classes: Classes
    there: NDArray[np.bool_]

    @classmethod
    def of(cls, classes: Classes) -> PresentClasses:
        """Leave out the classes that only the population has."""
        return cls(classes, classes.counts > 0)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per class, shape (P,)."""
        return self._classes.counts[self.there]

    @property
    def population(self) -> NDArray[np.int64]:
        """Records of the population per class, shape (P,)."""
        return self._classes.population[self.there]

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """See `Classes.overlapping`, shape (P,)."""
        return self._classes.overlapping[self.there]

    def has_missing(self, attribute: str) -> bool:
        """See `Classes.has_missing`."""
        return self._classes.has_missing(attribute)

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """Distinct sensitive values per class, shape (P,)."""
        return self._classes.distinct(attribute)[self.there]

    def histogram(self, attribute: str) -> Histogram:
        """Sensitive values per class."""
        return self._present(self._classes.histogram(attribute))

    @property
    def persons(self) -> NDArray[np.int64]:
        """Distinct persons per class, shape (P,)."""
        return self._classes.persons[self.there]

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """See `Classes.fewer_persons_than`."""
        return self._classes.fewer_persons_than(least)[self.there]

    def person_histogram(self, attribute: str) -> Histogram:
        """See `Classes.person_histogram`."""
        return self._present(self._classes.person_histogram(attribute))

    def smallest_of_persons(self) -> NDArray[np.int64]:
        """Persons of the smallest class of each person, shape (persons of the table,); 0 for who is in none."""
        runs = self._classes.table.persons
        assert runs is not None  # noqa: S101 (only jobs that count persons ask)
        found = np.full(runs.number, np.iinfo(np.int64).max)
        sizes = np.repeat(self._classes.persons[self._classes.gid], np.diff(runs.runs.offsets))
        np.minimum.at(found, runs.runs.members, sizes)
        return np.where(found == np.iinfo(np.int64).max, 0, found)

    def _present(self, whole: Histogram) -> Histogram:
        return replace(whole, offsets=np.concatenate([whole.offsets[:1], whole.offsets[1:][self.there]]))


def frequency_table(
    attributes: Sequence[str],
    hierarchies: Sequence[Hierarchy],
    sensitive: Mapping[str, Sequence[Label]],
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    trees: Mapping[str, Hierarchy] | None = None,
    population: NDArray[np.int64] | None = None,
) -> FrequencyTable:
    """Make the table of distinct joint tuples.

    Parameters
    ----------
    sensitive : mapping of attribute to labels
        The sensitive attributes whose values are counted, and the labels of their codes.
    codes : int32, shape (rows, m + len(sensitive))
        Distinct tuples in order of first appearance: leaf codes of the quasi-identifiers, then codes of the sensitive
        values.
    counts : int64, shape (rows,)
        Released records per tuple; if there are none, sensitive codes are ignored.
    trees : mapping of sensitive attribute to Hierarchy, optional
        Hierarchies of sensitive attributes.
    population : int64, shape (rows,), optional
        Records of the population per tuple.
    """
    m = len(attributes)
    row, heads = _rows(codes[:, :m], [hierarchy.codes.shape[1] for hierarchy in hierarchies])
    there = np.flatnonzero(counts)
    present = slice(None) if there.size == counts.size else there
    histograms = {
        name: _histogram(
            row[present], codes[present, m + i], counts[present], heads.size, tuple(labels), (trees or {}).get(name)
        )
        for i, (name, labels) in enumerate(sensitive.items())
    }
    position = np.where(counts > 0, np.arange(counts.size), np.iinfo(np.int64).max)
    distinct = np.empty((m, heads.size), np.int32)
    for a in range(m):
        # codes are distinct tuples, so no head is out of range, and no copy is made to be sure
        np.take(codes[:, a], heads, out=distinct[a], mode="clip")
    return FrequencyTable(
        tuple(attributes),
        tuple(hierarchies),
        distinct,
        class_counts(row, heads.size, counts),
        class_firsts(row, heads.size, position),
        histograms,
        None if population is None else class_counts(row, heads.size, population),
    )


def _rows(keys: NDArray[np.int32], widths: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give the distinct rows of `keys`, shape (rows, m), numbers in lexicographic order.

    The columns have `widths` codes. Returns the number of each row, int32, and for each number a row of `keys`.
    """
    combinations = math.prod(widths)
    if combinations < 1 << 63:
        ranks = np.zeros(keys.shape[0], np.int64)
        for a, width in enumerate(widths):
            ranks *= width
            ranks += keys[:, a]
        order = np.argsort(ranks)
        ascending = ranks[order]
        new = np.append(True, ascending[1:] != ascending[:-1])[: order.size]
    else:
        order = np.lexsort(keys.T[::-1])
        new = np.append(True, (keys[order[1:]] != keys[order[:-1]]).any(axis=1))[: order.size]
    row = np.empty(order.size, np.int32)
    row[order] = np.cumsum(new, dtype=np.int32) - 1
    return row, order[new]


def _histogram(
    row: NDArray[np.int32],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    rows: int,
    labels: tuple[Label, ...],
    tree: Hierarchy | None,
) -> Histogram:
    values = np.ascontiguousarray(values)
    merged = merge_histograms(row, rows, np.arange(row.size + 1), values, counts, len(labels))
    return Histogram(*merged, class_counts(values, len(labels), counts), labels, tree)
