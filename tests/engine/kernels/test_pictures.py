"""Pictures of persons: multisets of cells that are equal, and parts that are shared, against counters."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.kernels.picture_parts import rarest_parts
from engine.kernels.pictures import equal_pictures, merged_pictures

PERSONS = st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=5), min_size=1, max_size=8)
"""The rows of each person: a cell and the records of the person in the row."""


def merged(persons):
    rows = [row for own in persons for row in own]
    cells = np.array([cell for cell, _ in rows], np.int32)
    counts = np.array([count for _, count in rows], np.int64)
    offsets = np.cumsum([0, *map(len, persons)]).astype(np.int64)
    return merged_pictures(cells, counts, offsets)


def pictures_of(persons):
    return [Counter(cell for cell, count in own for _ in range(count)) for own in persons]


@given(PERSONS)
def test_rows_of_one_cell_are_merged(persons):
    cells, counts, offsets = merged(persons)
    for place, picture in enumerate(pictures_of(persons)):
        own = slice(offsets[place], offsets[place + 1])
        assert list(zip(cells[own].tolist(), counts[own].tolist(), strict=True)) == sorted(picture.items())


def test_many_rows_of_one_person_are_merged():
    """Beyond some rows another sort is used."""
    rows = [[(n % 7, 1) for n in range(1000)], [(n, 2) for n in reversed(range(300))]]
    cells, counts, offsets = merged(rows)
    assert dict(zip(cells[:7].tolist(), counts[:7].tolist(), strict=True)) == dict(pictures_of(rows)[0])
    assert offsets.tolist() == [0, 7, 307]
    assert cells[7:].tolist() == list(range(300))


@given(PERSONS)
def test_persons_with_equal_pictures_are_grouped(persons):
    groups, number = equal_pictures(*merged(persons))
    found = pictures_of(persons)
    assert number == len({frozenset(picture.items()) for picture in found})
    for (one, first), (other, second) in itertools.combinations(zip(groups.tolist(), found, strict=True), 2):
        assert (one == other) == (first == second)


@given(PERSONS, st.integers(1, 3), st.data())
def test_the_rarest_part_is_that_of_all_sub_multisets(persons, most, data):
    kept = data.draw(st.lists(st.booleans(), min_size=len(persons), max_size=len(persons)))
    found = rarest_parts(*merged(persons), np.array(kept), 5, most)
    pictures = pictures_of(persons)
    for person, stays, picture in zip(found.tolist(), kept, pictures, strict=True):
        parts = {
            part for size in range(1, most + 1) for part in itertools.combinations(sorted(picture.elements()), size)
        }
        shared = [
            sum(other >= Counter(part) for other, there in zip(pictures, kept, strict=True) if there) for part in parts
        ]
        assert person == (min(shared, default=0) if stays else 0)
