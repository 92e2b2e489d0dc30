"""Tuples packed into integers against a plain dictionary of Python, in whatever batches and widths they come."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.tables.counting.tuple_counts import TupleCounts
from engine.tables.counting.tuple_index import TupleIndex

WIDE = 2**31 - 1
CODES = st.one_of(st.integers(0, 3), st.integers(0, 300), st.integers(0, WIDE - 1))


@st.composite
def batches(draw):
    columns = draw(st.integers(1, 5))
    rows = st.lists(st.tuples(*[CODES] * columns), max_size=12)
    return columns, draw(st.lists(rows, min_size=1, max_size=6))


def plain(rows):
    """Return distinct tuples in order of first appearance, and how often each is there."""
    found = {}
    for row in rows:
        found[row] = found.get(row, 0) + 1
    return found


def as_columns(rows, columns):
    return [np.array([row[a] for row in rows], np.int32) for a in range(columns)]


@given(batches())
def test_tuples_are_counted_in_order_of_first_appearance(made):
    columns, parts = made
    counted, widths = TupleCounts(), [1] * columns
    for part in parts:
        widths = [max([width, *(row[a] + 1 for row in part)]) for a, width in enumerate(widths)]
        counted.add(as_columns(part, columns), widths)
    codes, counts = counted.total()
    expected = plain(row for part in parts for row in part)
    assert list(map(tuple, codes.tolist())) == list(expected)
    assert counts.tolist() == list(expected.values())
    assert counted.size == len(expected)


@given(batches(), st.integers(0, 9))
def test_tuples_are_counted_with_their_records(made, weight):
    columns, parts = made
    counted = TupleCounts()
    for part in parts:
        counted.add(as_columns(part, columns), [WIDE] * columns, np.full(len(part), weight, np.int64))
    expected = plain(row for part in parts for row in part)
    assert counted.total()[1].tolist() == [weight * number for number in expected.values()]


@given(batches())
def test_every_tuple_is_found_and_no_other(made):
    columns, parts = made
    known, asked = parts[0], [row for part in parts for row in part]
    widths = [max([1, *(row[a] + 1 for row in asked)]) for a in range(columns)]
    index = TupleIndex(as_columns(known, columns), widths)
    place = {row: number for number, row in enumerate(plain(known))}
    assert list(map(tuple, index.known.tolist())) == list(place)
    assert index.group.tolist() == [place[row] for row in known]
    assert index.find(as_columns(asked, columns)).tolist() == [place.get(row, -1) for row in asked]
