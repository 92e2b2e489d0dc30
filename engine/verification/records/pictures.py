"""The pictures of persons, recounted: the multisets of the cells of their records.

By numpy and a dictionary of bytes, so that nothing is shared with the search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def picture_of(cells: NDArray[np.int64], persons: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Give persons with equal pictures the same number, from 0, shape (number,).

    Parameters
    ----------
    cells, persons : int64, shape (n,)
        Of each record.
    number : int
        Distinct persons.
    """
    width = int(cells.max(initial=0)) + 1
    pairs, counts = np.unique(persons * width + cells, return_counts=True)
    entries = np.column_stack([pairs % width, counts])
    ends = np.searchsorted(pairs // width, np.arange(number + 1))
    known: dict[bytes, int] = {}
    found = [
        known.setdefault(entries[begin:end].tobytes(), len(known))
        for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    return np.array(found, np.int64)


def rarest_part(cells: NDArray[np.int64], persons: NDArray[np.int64], number: int, most: int) -> NDArray[np.int64]:
    """Count the persons who share the rarest part of each picture: any sub-multiset of at most `most` cells.

    Parameters
    ----------
    cells, persons : int64, shape (n,)
        Of each record that counts.
    number : int
        Distinct persons.
    most : int
        At least 1.

    Returns
    -------
    int64, shape (number,)
        The person among them; the largest number there is for who has no record.
    """
    rarest = np.full(number, np.iinfo(np.int64).max)

    def note(owner: NDArray[np.int64], part: NDArray[np.int64]) -> None:
        np.minimum.at(rarest, owner, np.bincount(part)[part])

    _each_part(cells, persons, most, note)
    return rarest


def fewest_values(
    cells: NDArray[np.int64],
    persons: NDArray[np.int64],
    number: int,
    most: int,
    of_person: NDArray[np.int64],
    values: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count the distinct values of those who share a part of each picture: the fewest of any part.

    Parameters
    ----------
    cells, persons, number, most
        See `rarest_part`.
    of_person, values : int64, shape (v,)
        Pairs of a person and a value, from 0, that he or she has.

    Returns
    -------
    int64, shape (number,)
        The largest number there is for who has no record.
    """
    width = int(values.max(initial=0)) + 1
    pairs = np.unique(of_person * width + values)
    of_person, values = np.divmod(pairs, width)
    ends = np.searchsorted(of_person, np.arange(number + 1))
    fewest = np.full(number, np.iinfo(np.int64).max)

    def note(owner: NDArray[np.int64], part: NDArray[np.int64]) -> None:
        has = np.diff(ends)[owner]
        places = np.arange(has.sum()) + np.repeat(ends[owner] - np.cumsum(has) + has, has)
        found = np.unique(np.repeat(part, has) * width + values[places]) // width
        np.minimum.at(fewest, owner, np.bincount(found, minlength=int(part.max(initial=-1)) + 1)[part])

    _each_part(cells, persons, most, note)
    return fewest


_Note = Callable[[NDArray[np.int64], NDArray[np.int64]], None]
"""Told of parts: the person and the number of the part of each pair of a person and a part, some parts at a time."""


def _each_part(cells: NDArray[np.int64], persons: NDArray[np.int64], most: int, note: _Note) -> None:
    """Find all parts of at most `most` cells; whoever has a part is told of at the same time as all others with it."""
    width = int(cells.max(initial=0)) + 1
    pairs, counts = np.unique(persons * width + cells, return_counts=True)
    owner, cell = np.divmod(pairs, width)
    entries = _Entries(owner, cell, counts, np.asarray(np.searchsorted(owner, owner, side="right"), np.int64))
    # parts with one first cell are counted together, and few cells at a time
    order = np.argsort(cell, kind="stable")
    work = np.cumsum((entries.ends - np.arange(owner.size))[order] ** (most - 1))
    begin = 0
    while begin < order.size:
        reached = work[begin - 1] if begin else 0
        end = int(np.searchsorted(work, reached + _AT_ONCE, side="right"))
        last = cell[order[min(max(end, begin + 1), order.size) - 1]]
        end = int(np.searchsorted(cell[order], last, side="right"))
        _parts_from(entries, order[begin:end], most, note)
        begin = end


_AT_ONCE = 1 << 22
"""Parts that are counted at the same time, unless one cell begins more of them."""


class _Entries(NamedTuple):
    """The cells of each person, ascending: owner, cell, records in it, and where the person's entries end."""

    owner: NDArray[np.int64]
    cell: NDArray[np.int64]
    counts: NDArray[np.int64]
    ends: NDArray[np.int64]


def _parts_from(entries: _Entries, last: NDArray[np.int64], most: int, note: _Note) -> None:
    """Find the parts that begin with these entries, cell by cell, in ascending order; `run` ends in equal cells."""
    part, run = np.unique(entries.cell[last], return_inverse=True)[1], np.ones(last.size, np.int64)
    for size in range(1, most + 1):
        note(entries.owner[last], part)
        if size == most:
            return
        further = entries.ends[last] - last
        before = np.repeat(np.arange(last.size), further)
        following = last[before] + np.arange(before.size) - np.repeat(np.cumsum(further) - further, further)
        again = following == last[before]
        there = ~again | (run[before] < entries.counts[following])
        before, following, again = before[there], following[there], again[there]
        run = np.where(again, run[before] + 1, 1)
        width = int(entries.cell.max(initial=0)) + 1
        part = np.unique(part[before] * width + entries.cell[following], return_inverse=True)[1]
        last = following
