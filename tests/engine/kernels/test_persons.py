"""Distinct persons of unions, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.tables.counting.person_runs import Runs


@st.composite
def rows(draw):
    """Draw the members of some rows, the class of each row, and the number of classes."""
    members = draw(st.lists(st.frozensets(st.integers(0, 7)), min_size=1, max_size=12))
    classes = draw(st.integers(1, 4))
    gid = draw(st.lists(st.integers(0, classes - 1), min_size=len(members), max_size=len(members)))
    return members, np.array(gid, np.int32), classes


def runs_of(members):
    pairs = [(row, member) for row, found in enumerate(members) for member in sorted(found) * 2]
    owner, member = (np.array([pair[place] for pair in pairs], np.int64) for place in (0, 1))
    return Runs.of(owner, member, len(members), 8)


def sets_of(runs):
    return [
        frozenset(runs.members[begin:end].tolist())
        for begin, end in zip(runs.offsets[:-1], runs.offsets[1:], strict=True)
    ]


@given(rows())
def test_a_union_has_each_member_once(drawn):
    members, gid, classes = drawn
    runs = runs_of(members)
    assert sets_of(runs) == list(members)
    merged = runs.merged(gid, classes)
    unions = [
        frozenset().union(*(found for found, c in zip(members, gid.tolist(), strict=True) if c == one))
        for one in range(classes)
    ]
    assert sets_of(merged) == unions
    assert merged.members.size == sum(map(len, unions))


@given(rows(), st.data())
def test_chosen_rows_keep_their_members(drawn, data):
    members, _, _ = drawn
    runs = runs_of(members)
    chosen = data.draw(st.lists(st.integers(0, len(members) - 1), max_size=5))
    assert sets_of(runs.selected(np.array(chosen, np.int64))) == [members[row] for row in chosen]
    left = np.array(data.draw(st.lists(st.booleans(), min_size=len(members), max_size=len(members))))
    expected = [found if stays else frozenset() for found, stays in zip(members, left.tolist(), strict=True)]
    assert sets_of(runs.without(left)) == expected
