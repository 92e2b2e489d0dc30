"""A frequency table in which no two persons share a row: what suppresses whole persons is said by its rows.

In: the rows, persons and sensitive values of all records, and the table that they were counted in, with a row per
distinct tuple. Out: the same records in a table with a row per distinct pair of a person and a tuple, sorted by
person, then as before; the rows of one person follow each other (`Apart`). So one mask of rows says what a
transformation suppresses, whether it suppresses classes or persons: measures that are sums over records need no more,
and the transformation of the source takes the person of each record from `Apart.of_record`. Memory: about 60 bytes per
row with one sensitive attribute, and never more rows than records.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.histogram import Histogram
from engine.tables.counting.person_runs import Apart, PersonRuns, Runs, ValueRuns


def rows_apart(
    table: FrequencyTable,
    rows: NDArray[np.int64],
    persons: NDArray[np.int64],
    number: int,
    values: dict[str, NDArray[np.int64]],
) -> FrequencyTable:
    """Split the rows of a table by person.

    Parameters
    ----------
    table : FrequencyTable
        R rows; without a population.
    rows, persons : int64, shape (n,)
        Row and person of each record, in the order of the source.
    number : int
        Distinct persons, P.
    values : mapping of sensitive attribute to int64, shape (n,)
        Code of each record's value; -1 for none.
    """
    size = table.counts.size
    pairs, first, place, counts = np.unique(
        persons * size + rows, return_index=True, return_inverse=True, return_counts=True
    )
    owner, tuples = np.divmod(pairs, size)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=number))])
    histograms, of_value = {}, {}
    for name, codes in values.items():
        histograms[name] = _histogram(table.sensitive[name], place, codes, counts.size)
        of_value[name] = ValueRuns.of(place, persons, codes, counts.size, number, len(table.sensitive[name].labels))
    runs = Runs(np.arange(counts.size + 1), owner.astype(np.int32), number)
    return replace(
        table,
        codes=np.ascontiguousarray(table.codes[:, tuples]),
        counts=counts.astype(np.int64),
        first=first.astype(np.int64),
        sensitive=histograms,
        refused=None if table.refused is None else table.refused[tuples],
        persons=PersonRuns(runs, of_value, Apart(offsets, persons.astype(np.int32))),
    )


def records_of_suppressed(table: FrequencyTable, suppressed: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Return the records of persons who are suppressed, in the order of the source, bool, shape (n,).

    Parameters
    ----------
    suppressed : int64, shape (S,)
        Rows of the table: all of some persons.

    Returns
    -------
    bool, shape (n,), or None
        None for a table whose rows are not of one person each: there, classes are suppressed whole.
    """
    persons = persons_of_suppressed(table, suppressed)
    if persons is None or table.persons is None or table.persons.apart is None:
        return None
    out = np.zeros(table.persons.number, np.bool_)
    out[persons] = True
    return out[table.persons.apart.of_record]


def persons_of_suppressed(table: FrequencyTable, suppressed: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the persons who are suppressed, int64, shape (persons,); see `records_of_suppressed`."""
    if table.persons is None or table.persons.apart is None:
        return None
    return np.unique(table.persons.runs.members[suppressed]).astype(np.int64)


def _histogram(whole: Histogram, place: NDArray[np.int64], codes: NDArray[np.int64], size: int) -> Histogram:
    """Count the values of each row."""
    width, there = max(1, len(whole.labels)), codes >= 0
    found, counts = np.unique(place[there] * width + codes[there], return_counts=True)
    owner, values = np.divmod(found, width)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=size))])
    return replace(whole, offsets=offsets, values=values.astype(np.int32), counts=counts.astype(np.int64))
