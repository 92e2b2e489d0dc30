"""Whose the records of an output are, from the source that has the persons: a release does not have them.

In: an output, its job and levels, and the source. Out: the class and the person of each record of the file. The source
is generalized anew (`source_records`); a record of it is kept if the output has its cell, since a class is kept or
suppressed as a whole; where persons are, `engine.verification.checks.whole_persons` finds who is kept. That these are
the records of the output is then shown by counting both: each cell, and each combination of a cell and of a sensitive
value that criteria read, must occur as often in one as in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.verification.records.source_records import SourceRecords, first_of, value_codes

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable

CELL = "\0cell"
"""Its column, which stands beside that of a sensitive attribute of any name."""


@dataclass(frozen=True, eq=False)
class PersonsOfFile:
    """The records of a file, F of them, with their persons.

    Attributes
    ----------
    cells : int64, shape (F,)
        Class of each record, from 0, as models judge it: its equivalence class, that of the suppressed records being
        one; or the group of its person, if attackers know all rows.
    persons : int64, shape (F,)
    kept : bool, shape (F,)
        Which records are not suppressed.
    values : mapping of sensitive attribute to Array
        Of each record; texts that mean a missing value are missing.
    has : mapping of sensitive attribute to bool, shape (F,)
        Which records have the attribute; the others are judged by no model of it.
    number : int
        Distinct persons of the source.
    agrees : bool
        Whether the output has exactly these records, as far as criteria read them.
    rows : int
        Records to release, the suppressed ones included.
    left_out : int or None
        Rows beyond the `max_rows` of a person; None for a job without.
    persons_out : int
        Distinct persons with records that are not in the file.
    found_among : int64, shape (P,), or None
        Persons among whom an attacker finds each person in the file, in no order, if classes do not tell it.
    values_among : mapping of attribute and whether a missing value counts to int64, shape (P,)
        The distinct values of those persons, as models demand them; empty if classes tell it.
    """

    cells: NDArray[np.int64]
    persons: NDArray[np.int64]
    kept: NDArray[np.bool_]
    values: Mapping[str, pa.Array]
    has: Mapping[str, NDArray[np.bool_]]
    number: int
    agrees: bool
    rows: int
    left_out: int | None
    persons_out: int
    found_among: NDArray[np.int64] | None = None
    values_among: Mapping[tuple[str, bool], NDArray[np.int64]] = field(default_factory=dict)

    def counted(self, attribute: str | None, *, kept: bool) -> tuple[pa.Table, pa.Table]:
        """Return what a model counts, one row each: the persons of classes, once for each value that they have there.

        Returns
        -------
        table, classes : pyarrow Table
            The column `CELL`, and that of the attribute. In `table` are the persons of the whole file, once for each
            value, of which `CELL` says nothing; `classes` has those of classes.
        """
        chosen = self.kept if kept else np.ones(self.kept.size, np.bool_)
        cells, persons = self.cells[chosen], self.persons[chosen]
        if attribute is None:
            alone = first_of(cells, persons)
            classes = pa.table({CELL: _texts(cells[alone])})
            return classes, classes
        has = self.has[attribute]
        cells, persons = self.cells[chosen & has], self.persons[chosen & has]
        values = self.values[attribute].filter(pa.array(has))
        codes, inside = value_codes([values])[0], chosen[has]
        once, alone = first_of(codes, self.persons[has]), first_of(cells, codes[inside], persons)
        table = pa.table({CELL: _texts(np.zeros(once.size, np.int64)), attribute: values.take(pa.array(once))})
        shown = values.filter(pa.array(inside)).take(pa.array(alone))
        return table, pa.table({CELL: _texts(cells[alone]), attribute: shown})

    @cached_property
    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The persons and the records of each class of the file, shape (C,) each."""
        alone = first_of(self._place, self.persons)
        return np.bincount(self._place[alone]), np.bincount(self._place)

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        return np.unique(self.cells, return_inverse=True)[1]

    def smallest_classes(self) -> NDArray[np.int64]:
        """Return the persons among whom each person in the file is found: of the smallest class; in no order."""
        if self.found_among is not None:
            return self.found_among
        nobody = np.iinfo(np.int64).max
        smallest = np.full(self.number, nobody)
        np.minimum.at(smallest, self.persons, self.sizes[0][self._place])
        return smallest[smallest < nobody]

    @property
    def records_out(self) -> int:
        """Records that are not in the file."""
        return self.rows - self.cells.size

    @property
    def persons_without_kept(self) -> int:
        """Persons of whom no record is kept."""
        return self.number - int((np.bincount(self.persons[self.kept], minlength=self.number) > 0).sum())


def persons_of_file(
    source: SourceRecords, table: ClassTable, job: Job, *, drop: bool, suppressed: int
) -> PersonsOfFile:
    """Give the records of an output their persons, if classes are suppressed.

    Parameters
    ----------
    table : ClassTable
        Of the output, suppressed records included.
    drop : bool
        Whether the output lacks the suppressed records.
    suppressed : int
        How many there are, by the report: a class that is `*` by its own labels looks like them, and may be one of
        those that are suppressed.
    """
    own, others = source.cells, source.released
    there = np.zeros(int(max(own.max(initial=0), others.max(initial=0), source.star)) + 1, np.bool_)
    there[others] = True
    kept = there[own] & ~source.refused
    if not drop and int((~kept).sum()) < suppressed:
        kept &= own != source.star
    cells = np.where(kept, own, source.star)
    inside = kept if drop else np.ones(kept.size, np.bool_)
    return file_of(source, inside, kept, cells, agrees=source.agree(table, job, inside, cells))


def file_of(
    source: SourceRecords,
    inside: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    classes: NDArray[np.int64],
    *,
    agrees: bool,
) -> PersonsOfFile:
    """Return those records of a source that are in the file.

    Parameters
    ----------
    inside, kept : bool, shape (n,)
        Which records are in the file, and which of them are not suppressed.
    classes : int64, shape (n,)
    """
    values = {name: column.filter(pa.array(inside)) for name, column in source.values.items()}
    has = {name: there[inside] for name, there in source.has.items()}
    return PersonsOfFile(
        classes[inside],
        source.persons[inside],
        kept[inside],
        values,
        has,
        source.number,
        agrees,
        kept.size,
        source.left_out,
        np.unique(source.persons[~inside]).size,
    )


def _texts(cells: NDArray[np.int64]) -> pa.Array:
    return pa.array(cells).cast(pa.string())
