"""The distinct persons of the rows of a frequency table, and for each sensitive value those who have it.

In: which persons have records of a row. Out: the same for classes of rows, by union: a person with several records of a
class is counted once. Rows can be chosen and merged as those of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels.histograms import distinct_values
from engine.kernels.persons import count_by_value, few_members, merge_members


@dataclass(frozen=True, eq=False)
class Runs:
    """Row r has the members `members[offsets[r]:offsets[r + 1]]`, int32 from 0 to `domain` - 1, each once."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    domain: int

    @classmethod
    def of(cls, rows: NDArray[np.int64], members: NDArray[np.int64], size: int, domain: int) -> Runs:
        """Make the runs of `size` rows from pairs of row and member, which may repeat, shape (pairs,)."""
        pairs = np.sort(rows * domain + members)
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: pairs.size]]
        owner, member = np.divmod(pairs, domain)
        offsets = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(owner, minlength=size), out=offsets[1:])
        return cls(offsets, member.astype(np.int32), domain)

    def selected(self, rows: NDArray[np.int64]) -> Runs:
        """Return the runs of some rows, in their order."""
        sizes = np.diff(self.offsets)[rows]
        offsets = np.zeros(rows.size + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        source = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], sizes)
        return replace(self, offsets=offsets, members=self.members[source])

    def without(self, left: NDArray[np.bool_]) -> Runs:
        """Return the runs with only some rows' members, bool, shape (R,); the others are empty."""
        lengths = np.diff(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(np.where(left, lengths, 0))])
        return replace(self, offsets=offsets, members=self.members[np.repeat(left, lengths)])

    def merged(self, owner: NDArray[np.int32], size: int) -> Runs:
        """Return the runs of classes of rows: `owner` gives the class of each row."""
        offsets, members = merge_members(owner, size, self.offsets, self.members, self.domain)
        return replace(self, offsets=offsets, members=members)


@dataclass(frozen=True, eq=False)
class ValueRuns:
    """A sensitive attribute: the members of `runs` are pairs of a value and a person who has it in the row.

    Attributes
    ----------
    value_of : int32, shape (pairs,)
        Value of each pair, a code of the attribute's histogram.
    totals : int64, shape (V,)
        Persons of the table with each value.
    """

    runs: Runs
    value_of: NDArray[np.int32]
    totals: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        persons: NDArray[np.int64],
        codes: NDArray[np.int64],
        size: int,
        number: int,
        width: int,
    ) -> ValueRuns:
        """Make those of `size` rows and `width` values from the row, the person and the value of each record.

        Parameters
        ----------
        rows, persons, codes : int64, shape (n,)
            A record without a value has the code -1.
        number : int
            Distinct persons.
        """
        there = codes >= 0
        rows, persons, codes = rows[there], persons[there], codes[there]
        pairs, pair = np.unique(codes * number + persons, return_inverse=True)
        value_of = (pairs // max(1, number)).astype(np.int32)
        runs = Runs.of(rows, pair.astype(np.int64), size, max(1, pairs.size))
        return cls(runs, value_of, np.bincount(value_of, minlength=width))

    def without(self, left: NDArray[np.bool_]) -> ValueRuns:
        """Return the same of only some rows, bool, shape (R,); values that are gone have no code."""
        runs = self.runs.without(left)
        there = np.zeros(self.value_of.size, np.bool_)
        there[runs.members] = True
        totals = np.bincount(self.value_of[there], minlength=self.totals.size)
        codes = (np.cumsum(totals > 0) - 1).astype(np.int32)
        return ValueRuns(runs, codes[self.value_of], totals[totals > 0])


@dataclass(frozen=True, eq=False)
class Apart:
    """Where each row is of one person (`engine.tables.persons.rows_apart`): the rows of P persons.

    Attributes
    ----------
    offsets : int64, shape (P + 1,)
        Person p has the rows `offsets[p]` to `offsets[p + 1]`.
    of_record : int32, shape (n,)
        Person of each record, in the order of the source.
    """

    offsets: NDArray[np.int64]
    of_record: NDArray[np.int32]

    def of_rows(self, persons: NDArray[Any]) -> NDArray[Any]:
        """Return what each row's person has, shape (R,), from what each person has, shape (P,)."""
        return np.repeat(persons, np.diff(self.offsets))


@dataclass(frozen=True, eq=False)
class PersonRuns:
    """The persons of R rows.

    Attributes
    ----------
    runs : Runs
        Persons by row.
    values : mapping of sensitive attribute to ValueRuns
    apart : Apart or None
        The rows by person, if no two persons share one.
    """

    runs: Runs
    values: Mapping[str, ValueRuns]
    apart: Apart | None = None

    @property
    def number(self) -> int:
        """Distinct persons of the whole table, P."""
        return self.runs.domain

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """What takes memory by row."""
        found = [self.runs, *(values.runs for values in self.values.values())]
        return [array for runs in found for array in (runs.offsets, runs.members)]

    def selected(self, rows: NDArray[np.int64]) -> PersonRuns:
        """Return the persons of some rows, int64."""
        return self._each(lambda runs: runs.selected(rows))

    def merged(self, owner: NDArray[np.int32], size: int) -> PersonRuns:
        """Return the persons of classes of rows."""
        return self._each(lambda runs: runs.merged(owner, size))

    def without(self, left: NDArray[np.bool_]) -> PersonRuns:
        """Return the persons of only some rows, bool, shape (R,); the others have none."""
        values = {name: one.without(left) for name, one in self.values.items()}
        return PersonRuns(self.runs.without(left), values, self.apart)

    def _each(self, change: Any) -> PersonRuns:
        values = {name: replace(one, runs=change(one.runs)) for name, one in self.values.items()}
        return PersonRuns(change(self.runs), values)

    @property
    def present(self) -> int:
        """Distinct persons who have a record in some row."""
        there = np.zeros(self.number, np.bool_)
        there[self.runs.members] = True
        return int(there.sum())

    def count(self, gid: NDArray[np.int32], size: int) -> NDArray[np.int64]:
        """Count the distinct persons of each of `size` classes."""
        found: NDArray[np.int64] = distinct_values(gid, size, self.runs.offsets, self.runs.members, self.runs.domain)
        return found

    def fewer_than(self, least: int, gid: NDArray[np.int32], size: int) -> NDArray[np.bool_]:
        """Tell which of `size` classes have fewer than `least` distinct persons."""
        few: NDArray[np.bool_] = few_members(gid, size, self.runs.offsets, self.runs.members, self.runs.domain, least)
        return few

    def by_value(
        self, attribute: str, gid: NDArray[np.int32], size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Return the persons by value of each class, as offsets, values and counts of a sparse histogram."""
        values = self.values[attribute]
        merged = values.runs.merged(gid, size)
        found: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] = count_by_value(
            merged.offsets, merged.members, values.value_of, values.totals.size
        )
        return found
