"""The people behind the cells of a local recoding, recounted.

In: the population's distinct values, and the cells of an output, which may overlap. Out: a table as of `Population.at`,
a row per cell. A person may have a cell if each of its texts is a label of the person's value at a level that the job
allows. Those who may have no other cell are the people of the cell, or as many as it has records if these are more, but
never more than may have it (docs/adr/0011). Of each value the cells are found that may show it, as bits; those that may
show a person are in all of the person's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.verification.records.kept import MARK
from engine.verification.records.population import Population
from engine.verification.records.records import Records

_AT_ONCE = 1 << 26
"""Bytes of bits at a time."""
_NOBODY = "\0"
"""The label in the row of the people who may have no cell: no record has it."""


@dataclass(frozen=True, eq=False)
class _Found:
    """Of each of X cells, int64: `people`, `released` and `alone`; and the first two of those who may have none."""

    people: NDArray[np.int64]
    released: NDArray[np.int64]
    alone: NDArray[np.int64]
    none: tuple[int, int]


def people_of_cells(population: Population, allowed: Mapping[str, Sequence[int]], records: Records) -> pa.Table:
    """Count the people behind the cells of the kept records.

    Parameters
    ----------
    allowed : mapping of quasi-identifier to the levels that the job allows

    Returns
    -------
    pyarrow Table
        As of `Population.at`, with `shared`, the people who may have another cell as well, and those of the subset
        beyond the records of the cell, who are suppressed; `released` counts those of the subset who may have the cell.
        The last row is of the people who may have none; of a whole file, the class of
        the suppressed records has these alone.
    """
    kept = records.kept
    columns = [texts.column().to_pylist() for texts in kept.labels.values()]
    sizes = kept.records.astype(np.int64)
    alike = records.kept_rows - kept.rows
    if alike > 0:
        columns = [[*column, MARK] for column in columns]
        sizes = np.append(sizes, alike)
    is_star = np.zeros(sizes.size, np.bool_)
    if records.as_file:
        is_star = np.array([set(cell) == {MARK} for cell in zip(*columns, strict=True)], np.bool_)
    shown = np.flatnonzero(~is_star)
    found = _counted(population, allowed, [[column[x] for x in shown.tolist()] for column in columns])
    people = np.minimum(found.people, np.maximum(found.alone, sizes[shown]))
    rows = [[column[x] for x in shown.tolist()] + [_NOBODY] for column in columns]
    counts = {
        "people": np.append(people, found.none[0]),
        "released": np.append(found.released, found.none[1]),
        "shared": np.append(found.people - found.alone + np.maximum(found.released - sizes[shown], 0), 0),
    }
    labels = {str(place): pa.array(row, pa.string()) for place, row in enumerate(rows)}
    return pa.table({**labels, **{name: pa.array(one, pa.int64()) for name, one in counts.items()}})


def _counted(
    population: Population, allowed: Mapping[str, Sequence[int]], columns: Sequence[Sequence[str | None]]
) -> _Found:
    number = len(columns[0])
    people, listed, codes, labels = population.tuples(allowed)
    bits = [_bits(of_value, column) for of_value, column in zip(labels, columns, strict=True)]
    covered, released, alone = (np.zeros(number, np.int64) for _ in range(3))
    none = [0, 0]
    step = max(1, _AT_ONCE // max(1, bits[0].shape[1]))
    for begin in range(0, people.size, step):
        part = slice(begin, begin + step)
        both = bits[0][codes[0][part]]
        for one, of_tuple in zip(bits[1:], codes[1:], strict=True):
            both &= one[of_tuple[part]]
        rows, cells = _pairs(both)
        own, own_listed = people[part], listed[part]
        np.add.at(covered, cells, own[rows])
        np.add.at(released, cells, own_listed[rows])
        times = np.bincount(rows, minlength=own.size)
        once = times[rows] == 1
        np.add.at(alone, cells[once], own[rows[once]])
        none[0] += int(own[times == 0].sum())
        none[1] += int(own_listed[times == 0].sum())
    return _Found(covered, released, alone, (none[0], none[1]))


def _bits(of_value: Sequence[set[str | None]], column: Sequence[str | None]) -> NDArray[np.uint8]:
    """Return for each value the cells that may show it, a bit each, uint8, shape (values, cells / 8)."""
    places: dict[str | None, list[int]] = {}
    for place, text in enumerate(column):
        places.setdefault(text, []).append(place)
    found = np.zeros((len(of_value), len(column)), np.bool_)
    for value, texts in enumerate(of_value):
        for text in texts:
            found[value, places.get(text, [])] = True
    return np.packbits(found, axis=1)


def _pairs(both: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row and the place of each bit that is set."""
    rows, places = np.nonzero(both)
    inside = np.unpackbits(both[rows, places][:, None], axis=1)
    which, bit = np.nonzero(inside)
    return rows[which], places[which] * 8 + bit
