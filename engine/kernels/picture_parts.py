"""How few persons share a part of a picture (`pictures`): persons by some of their cells, up to three.

Arrays are those of merged pictures: the entries of person p, `offsets[p]` to `offsets[p + 1]`, are `counts` records in
different `cells`, ascending.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.pictures import equal_pictures, merged_pictures


@kernel
def rarest_parts(
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    kept: NDArray[np.bool_],
    size: int,
    most: int,
) -> NDArray[np.int64]:
    """Count who shares the rarest part of each kept person's picture: any of its sub-multisets of at most `most` cells.

    Terrovitis, Mamoulis, Kalnis, Privacy-preserving anonymization of set-valued data. VLDB 2008: the support of item
    sets, here of multisets. A part is counted at its lowest cell, among those who have it.

    Parameters
    ----------
    cells, counts, offsets
        Merged pictures (`merged_pictures`).
    kept : bool, shape (P,)
        Whose pictures count.
    size : int
        Number of cells.
    most : int
        1, 2 or 3.

    Returns
    -------
    int64, shape (P,)
        Kept persons whose picture contains the part, the person among them; 0 for who is not kept or has no record.
    """
    persons = offsets.shape[0] - 1
    rarest = np.zeros(persons, np.int64)
    for p in range(persons):
        if kept[p] and offsets[p + 1] > offsets[p]:
            rarest[p] = persons
    starts, owners, entries = _by_cell(cells, offsets, kept, size)
    # of those who have the anchor: who has another cell once; once and the anchor twice; twice
    once = np.zeros(size, np.int64)
    anchor_twice = np.zeros(size, np.int64)
    twice = np.zeros(size, np.int64)
    third = np.zeros(size, np.int64)
    begins = np.full(size, np.int64(-1))
    for anchor in range(size):
        begin, end = starts[anchor], starts[anchor + 1]
        if begin == end:
            continue
        for copies in range(1, most + 1):
            sharing = 0
            for at in range(begin, end):
                if counts[entries[at]] >= copies:
                    sharing += 1
            for at in range(begin, end):
                if counts[entries[at]] >= copies:
                    rarest[owners[at]] = min(rarest[owners[at]], sharing)
        if most == 1:
            continue
        for at in range(begin, end):
            for i in range(entries[at] + 1, offsets[owners[at] + 1]):
                once[cells[i]] += 1
                if most > 2:  # noqa: PLR2004 (three cells)
                    anchor_twice[cells[i]] += counts[entries[at]] > 1
                    twice[cells[i]] += counts[i] > 1
        for at in range(begin, end):
            least = rarest[owners[at]]
            for i in range(entries[at] + 1, offsets[owners[at] + 1]):
                least = min(least, once[cells[i]])
                if most > 2:  # noqa: PLR2004
                    if counts[entries[at]] > 1:
                        least = min(least, anchor_twice[cells[i]])
                    if counts[i] > 1:
                        least = min(least, twice[cells[i]])
            rarest[owners[at]] = least
        if most > 2:  # noqa: PLR2004
            _thirds(cells, offsets, owners[begin:end], entries[begin:end], once, third, begins, rarest)
        for at in range(begin, end):
            for i in range(entries[at] + 1, offsets[owners[at] + 1]):
                once[cells[i]] = 0
                anchor_twice[cells[i]] = 0
                twice[cells[i]] = 0
    return rarest


@kernel
def _by_cell(
    cells: NDArray[np.int32], offsets: NDArray[np.int64], kept: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """List the kept persons by cell: cell c has the places `starts[c]` to `starts[c + 1]` of owners and entries."""
    persons = offsets.shape[0] - 1
    starts = np.zeros(size + 1, np.int64)
    for p in range(persons):
        if kept[p]:
            for i in range(offsets[p], offsets[p + 1]):
                starts[cells[i] + 1] += 1
    for c in range(size):
        starts[c + 1] += starts[c]
    owners = np.empty(starts[size], np.int32)
    entries = np.empty(starts[size], np.int64)
    place = starts[:-1].copy()
    for p in range(persons):
        if kept[p]:
            for i in range(offsets[p], offsets[p + 1]):
                owners[place[cells[i]]] = p
                entries[place[cells[i]]] = i
                place[cells[i]] += 1
    return starts, owners, entries


@kernel
def _thirds(
    cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    entries: NDArray[np.int64],
    once: NDArray[np.int64],
    third: NDArray[np.int64],
    begins: NDArray[np.int64],
    rarest: NDArray[np.int64],
) -> None:
    """Count the parts of three cells whose lowest one is the anchor that these persons have, into `rarest`.

    `once` has the persons with each further cell. `third` is zero and `begins` -1, and they are again afterwards.
    """
    seconds = np.int64(0)
    for at in range(owners.shape[0]):
        seconds += offsets[owners[at] + 1] - entries[at] - 1
    listed = np.empty(seconds, np.int64)
    listed_owners = np.empty(seconds, np.int32)
    touched = np.empty(seconds, np.int32)
    number, end = 0, np.int64(0)
    for at in range(owners.shape[0]):
        for i in range(entries[at] + 1, offsets[owners[at] + 1]):
            second = cells[i]
            if begins[second] < 0:
                begins[second] = end
                end += once[second]
                touched[number] = second
                number += 1
            listed[begins[second]] = i
            listed_owners[begins[second]] = owners[at]
            begins[second] += 1
    for n in range(number):
        last = begins[touched[n]]
        first = last - once[touched[n]]
        for at in range(first, last):
            for i in range(listed[at] + 1, offsets[listed_owners[at] + 1]):
                third[cells[i]] += 1
        for at in range(first, last):
            least = rarest[listed_owners[at]]
            for i in range(listed[at] + 1, offsets[listed_owners[at] + 1]):
                least = min(least, third[cells[i]])
            rarest[listed_owners[at]] = least
        for at in range(first, last):
            for i in range(listed[at] + 1, offsets[listed_owners[at] + 1]):
                third[cells[i]] = 0
    for n in range(number):
        begins[touched[n]] = -1


@kernel
def fewest_values_of_parts(
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    kept: NDArray[np.bool_],
    size: int,
    most: int,
    values: NDArray[np.int32],
    ends: NDArray[np.int64],
    domain: int,
) -> NDArray[np.int64]:
    """Count the distinct values of those who share a part of each kept person's picture: the fewest of any part.

    Parameters
    ----------
    cells, counts, offsets, kept, size, most
        See `rarest_parts`.
    values : int32, shape (entries of values,)
        Values of a sensitive attribute, 0 to `domain` - 1; a person may have one more than once.
    ends : int64, shape (P + 1,)
        Person p has the values `values[ends[p]:ends[p + 1]]`.
    domain : int

    Returns
    -------
    int64, shape (P,)
        Distinct values of the kept persons whose picture contains the part, the person among them; 0 for who is not
        kept or has no record.
    """
    persons = offsets.shape[0] - 1
    fewest = np.zeros(persons, np.int64)
    for p in range(persons):
        if kept[p] and offsets[p + 1] > offsets[p]:
            fewest[p] = domain
    starts, owners, entries = _by_cell(cells, offsets, kept, size)
    # which part had a value last; the number of the part stands behind the values
    seen = np.zeros(domain + 1, np.int64)
    place = np.full(size, np.int64(-1))
    for anchor in range(size):
        own, at = owners[starts[anchor] : starts[anchor + 1]], entries[starts[anchor] : starts[anchor + 1]]
        if own.shape[0] == 0:
            continue
        copies = counts[at]
        for number in range(1, most + 1):
            _note_values(own, copies >= number, values, ends, seen, fewest)
        if most == 1:
            continue
        begins, second, of = _by_later_cell(cells, offsets, own, at, place)
        for s in range(begins.shape[0] - 1):
            next_of, next_at = of[begins[s] : begins[s + 1]], second[begins[s] : begins[s + 1]]
            next_own = own[next_of]
            _note_values(next_own, np.ones(next_own.shape[0], np.bool_), values, ends, seen, fewest)
            if most == 2:  # noqa: PLR2004 (two cells)
                continue
            _note_values(next_own, copies[next_of] >= 2, values, ends, seen, fewest)  # noqa: PLR2004 (twice)
            _note_values(next_own, counts[next_at] >= 2, values, ends, seen, fewest)  # noqa: PLR2004
            thirds, _, last_of = _by_later_cell(cells, offsets, next_own, next_at, place)
            for t in range(thirds.shape[0] - 1):
                last = next_own[last_of[thirds[t] : thirds[t + 1]]]
                _note_values(last, np.ones(last.shape[0], np.bool_), values, ends, seen, fewest)
    return fewest


@kernel
def _note_values(
    owners: NDArray[np.int32],
    there: NDArray[np.bool_],
    values: NDArray[np.int32],
    ends: NDArray[np.int64],
    seen: NDArray[np.int64],
    fewest: NDArray[np.int64],
) -> None:
    """Count the distinct values of some of these persons, and keep the number for each of them if it is the fewest."""
    part = seen[-1] + 1
    seen[-1] = part
    number = np.int64(0)
    for at in range(owners.shape[0]):
        if there[at]:
            for i in range(ends[owners[at]], ends[owners[at] + 1]):
                if seen[values[i]] != part:
                    seen[values[i]] = part
                    number += 1
    for at in range(owners.shape[0]):
        if there[at] and number < fewest[owners[at]]:
            fewest[owners[at]] = number


@kernel
def _by_later_cell(
    cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    entries: NDArray[np.int64],
    place: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List persons, each at an entry of the picture, by the cells of later entries.

    Parameters
    ----------
    owners : int32, shape (A,)
    entries : int64, shape (A,)
    place : int64, shape (cells,)
        -1 throughout, and again afterwards.

    Returns
    -------
    begins : int64, shape (later cells + 1,)
    later : int64
        The later entry of each of the persons who have it.
    of : int64
        Their places in `owners`.
    """
    number, total = 0, np.int64(0)
    for at in range(owners.shape[0]):
        total += offsets[owners[at] + 1] - entries[at] - 1
    found = np.empty(total, np.int32)
    begins = np.zeros(total + 1, np.int64)
    for at in range(owners.shape[0]):
        for i in range(entries[at] + 1, offsets[owners[at] + 1]):
            if place[cells[i]] < 0:
                place[cells[i]] = number
                found[number] = cells[i]
                number += 1
            begins[place[cells[i]] + 1] += 1
    for n in range(number):
        begins[n + 1] += begins[n]
    later, of = np.empty(total, np.int64), np.empty(total, np.int64)
    free = begins.copy()
    for at in range(owners.shape[0]):
        for i in range(entries[at] + 1, offsets[owners[at] + 1]):
            n = place[cells[i]]
            later[free[n]] = i
            of[free[n]] = at
            free[n] += 1
    for n in range(number):
        place[found[n]] = -1
    return begins[: number + 1].copy(), later, of


def compile_pictures() -> None:
    """Run each kernel once, on two persons of one row."""
    offsets = np.array([0, 1, 2])
    merged = merged_pictures(np.zeros(2, np.int32), np.ones(2, np.int64), offsets)
    equal_pictures(*merged)
    for most in (1, 3):
        rarest_parts(*merged, np.ones(2, np.bool_), 1, most)
        fewest_values_of_parts(*merged, np.ones(2, np.bool_), 1, most, np.zeros(2, np.int32), offsets, 1)
