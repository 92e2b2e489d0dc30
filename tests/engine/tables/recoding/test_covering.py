"""The people of cells that overlap: as plain Python counts them, and never more than an attacker is left with."""

from __future__ import annotations

import collections
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.tables.recoding.covering import coverage, people_of
from tests.profiles import examples
from tests.reference import covered

TREES = (
    [("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*")],
    [("x", "*"), ("y", "*")],
    [("1", "1-2", "*"), ("2", "1-2", "*"), ("3", "3-4", "*"), ("4", "3-4", "*")],
)


def counted(sizes, people):
    """Count the people of cells by the engine; labels may be any texts."""
    cells, width = list(sizes), len(people[0])
    leaves = [sorted({person[a] for person in people}, key=sorted) for a in range(width)]
    texts = [sorted({cell[a] for cell in cells}) for a in range(width)]
    tuples = collections.Counter(people)
    found = coverage(
        np.array([[texts[a].index(cell[a]) for a in range(width)] for cell in cells], np.int32),
        [np.array([[text in leaf for leaf in leaves[a]] for text in texts[a]], np.bool_) for a in range(width)],
        np.array([[leaves[a].index(person[a]) for person in tuples] for a in range(width)], np.int32),
        np.array(list(tuples.values()), np.int64),
    )
    people_in = people_of(found, np.array(list(sizes.values()), np.int64))
    none = sum(number for number, out in zip(tuples.values(), found.uncovered.tolist(), strict=True) if out)
    return dict(zip(cells, people_in.tolist(), strict=True)), (found.alone < found.covered).tolist(), none


@st.composite
def releases(draw, most):
    """Draw people of a population, and of some of them a record each, under any labels of its values."""
    trees = draw(st.lists(st.sampled_from(TREES), min_size=1, max_size=3))
    row = st.tuples(*(st.sampled_from(tree) for tree in trees))
    people = draw(st.lists(row, min_size=1, max_size=most + 3))
    released = draw(st.lists(st.sampled_from(range(len(people))), min_size=1, max_size=most, unique=True))
    levels = [draw(st.tuples(*(st.integers(0, len(tree[0]) - 1) for tree in trees))) for _ in released]
    # most cells are of several records
    levels = [draw(st.sampled_from(levels)) for _ in released]
    cells = [
        tuple(path[level] for path, level in zip(people[one], own, strict=True))
        for one, own in zip(released, levels, strict=True)
    ]
    return [tuple(frozenset(path) for path in person) for person in people], cells


@settings(deadline=None, max_examples=examples(400))
@given(releases(12))
def test_people_are_those_that_plain_python_counts(case):
    people, cells = case
    sizes = collections.Counter(cells)
    found, shared, none = covered.people_of_cells(sizes, people)
    assert counted(sizes, people) == (found, [shared[cell] for cell in sizes], none)


@settings(deadline=None, max_examples=examples(200))
@given(releases(4))
def test_as_many_people_are_left_to_whoever_knows_the_population_and_the_labels_of_all_records(case):
    """Every record can be each of so many people in some assignment of all records; where cells overlap too."""
    people, cells = case
    found, _, _ = counted(collections.Counter(cells), people)
    possible = [set() for _ in cells]
    for world in covered.worlds(cells, people):
        for record, person in enumerate(world):
            possible[record].add(person)
    assert all(len(left) >= found[cell] for cell, left in zip(cells, possible, strict=True))


@settings(deadline=None, max_examples=examples(200))
@given(releases(4))
def test_where_no_cells_overlap_shares_are_the_probability_to_be_released(case):
    people, cells = case
    sizes = collections.Counter(cells)
    found, shared, _ = counted(sizes, people)
    assume(not any(shared))
    worlds = list(covered.worlds(cells, people))
    for number, person in enumerate(people):
        share = Fraction(sum(number in world for world in worlds), len(worlds))
        cell = next((cell for cell in sizes if covered.covers(cell, person)), None)
        assert share == (0 if cell is None else Fraction(sizes[cell], found[cell]))


def test_people_of_a_cell_whose_records_use_up_those_of_a_finer_one():
    """Three records show 31, and three people are 31: the record of the thirties is the person of 32."""
    people = [(frozenset({"31", "30s"}),)] * 3 + [(frozenset({"32", "30s"}),)]
    found, shared, none = counted({("31",): 3, ("30s",): 1}, people)
    assert (found, none) == ({("31",): 3, ("30s",): 1}, 0)
    assert shared == [True, True]
