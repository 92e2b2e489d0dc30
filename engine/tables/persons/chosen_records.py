"""A frequency table of some of its records only.

In: the row and the sensitive values of each record, and which records are chosen. Out: the table as if it had been
counted from these alone, with the same hierarchies, and the records as a `Table`. Each record is of one person.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.histogram import Histogram
from engine.tables.counting.pair_counts import pair_counts
from engine.tables.persons.subject import RecordsRead, person_runs


def table_of(table: FrequencyTable, read: RecordsRead, chosen: NDArray[np.bool_]) -> FrequencyTable:
    """Return the table of chosen records, bool, shape (n,), each of one person of its own."""
    rows = read.rows[chosen]
    there = np.bincount(rows, minlength=table.counts.size) > 0
    present, place = np.flatnonzero(there), (np.cumsum(there) - 1)[rows]
    first = np.full(present.size, np.iinfo(np.int64).max)
    np.minimum.at(first, place, np.arange(place.size))
    values, sensitive = {}, {}
    for name, codes in read.values.items():
        sensitive[name], values[name] = _counted(table.sensitive[name], place, codes[chosen], present.size)
    found = replace(
        table,
        codes=np.ascontiguousarray(table.codes[:, present]),
        counts=np.bincount(place, minlength=present.size).astype(np.int64),
        first=first,
        sensitive=sensitive,
        refused=None if table.refused is None else table.refused[present],
        persons=None,
    )
    return replace(found, persons=person_runs(found, place, np.arange(place.size), place.size, values))


def _counted(
    whole: Histogram, rows: NDArray[np.int64], codes: NDArray[np.int64], size: int
) -> tuple[Histogram, NDArray[np.int64]]:
    """Return the values of each row, without those that no record has, and the code of each record's value."""
    totals = np.bincount(codes, minlength=len(whole.labels)).astype(np.int64)
    there = totals > 0
    codes = (np.cumsum(there) - 1)[codes]
    offsets, values, counts = pair_counts(rows, codes, size, int(there.sum()))
    labels = tuple(label for label, left in zip(whole.labels, there.tolist(), strict=True) if left)
    return (
        Histogram(offsets, values, counts, totals[there], labels, whole.hierarchy),
        codes,
    )
