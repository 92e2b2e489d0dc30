"""Small policy spaces and tables for the tests of the frontier's core."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from engine.frontiers.space.domain import policy_space
from engine.frontiers.space.tuples import Tuples
from engine.hierarchy.hierarchy import Hierarchy

TREES = (
    [("a", "p", "*"), ("b", "q", "*"), ("c", "p", "*"), ("d", "q", "*"), ("e", "r", "*")],
    [("a", "*"), ("b", "*"), ("c", "*")],
    [("a", "p"), ("b", "q"), ("c", "p"), ("d", "q")],
    [("a",), ("b",)],
    [("a", "a", "*"), ("b", "t", "*"), ("c", "t", "*"), ("d", "t", "*")],
)
"""With three levels, flat, with two roots, with no levels, ragged."""


def space_of(parts):
    """Make a space: a number is an ordered domain of that size, a list the rows of a tree."""
    names = [f"q{a}" for a in range(len(parts))]
    rows = [[(str(v), "*") for v in range(part)] if isinstance(part, int) else part for part in parts]
    orders = {name: "integer" for name, part in zip(names, parts, strict=True) if isinstance(part, int)}
    hierarchies = [Hierarchy(name, each) for name, each in zip(names, rows, strict=True)]
    return policy_space(hierarchies, names, orders)


def tuples_of(rows):
    """Turn (positions, records, people) into arrays."""
    positions = np.array([row[0] for row in rows], np.int32).T
    return Tuples.checked(positions, np.array([row[1] for row in rows]), np.array([row[2] for row in rows]))


def groups_of(space, bits):
    """Return a policy as the oracles read it."""
    return tuple(tuple(groups.tolist()) for groups in space.groups(bits))


PARTS = st.one_of(st.integers(1, 6), st.sampled_from(TREES))


@st.composite
def spaces_and_rows(draw, parts=PARTS, most=3):
    """Draw a space and the rows of a table."""
    space = space_of(draw(st.lists(parts, min_size=1, max_size=most)))
    position = st.tuples(*(st.integers(0, domain.size - 1) for domain in space.domains))
    number = st.integers(0, 4)
    drawn = draw(st.lists(st.tuples(position, number, number), min_size=1, max_size=25, unique_by=lambda row: row[0]))
    rows = [(positions, f, people) for positions, f, people in drawn if f or people]
    if not any(f for _, f, _ in rows):
        rows = [row for row in rows if row[0] != drawn[0][0]] + [(drawn[0][0], 2, 3)]
    return space, rows
