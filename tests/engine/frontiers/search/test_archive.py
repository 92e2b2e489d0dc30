"""The staircase of undominated policies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.frontiers.search.archive import Archive
from tests.reference.frontier import undominated

GRID = 8
POINTS = st.lists(st.tuples(st.integers(0, GRID), st.integers(0, GRID)), min_size=1, max_size=40)


def offered(points, batches=(1, 3, 7)):
    """Offer points to an archive batch by batch; a policy's bits are its number."""
    archive = Archive(8, 2.0, 4.0)
    start, turn = 0, 0
    while start < len(points):
        end = start + batches[turn % len(batches)]
        part = np.array(points[start:end], np.float64) / GRID * [2.0, 4.0]
        archive.offer(part, lambda which, base=start: bits(base + which))
        start, turn = end, turn + 1
    return archive


def bits(numbers):
    return np.unpackbits(np.asarray(numbers, np.uint8)[:, np.newaxis], axis=1).astype(np.bool_)


def covered(points, x, y):
    """Whether a point dominates the unit of the grid right of and above (x, y)."""
    return any(a <= x and b <= y for a, b in points)


@given(POINTS)
def test_frontier_is_what_brute_force_keeps(points):
    archive = offered(points)
    assert sorted(map(tuple, (archive.points * GRID).tolist())) == sorted(set(undominated(points)))
    assert archive.figures == pytest.approx(archive.points * [2.0, 4.0])
    numbers = np.packbits(archive.bits(), axis=1)[:, 0].tolist()
    assert [points[n] for n in numbers] == [tuple(p) for p in (archive.points * GRID).tolist()]


@given(POINTS, st.lists(st.tuples(st.integers(0, GRID), st.integers(0, GRID)), min_size=1, max_size=10))
def test_dominated_is_what_brute_force_says(points, asked):
    archive = offered(points)
    wanted = [any(a <= x and b <= y for a, b in points) for x, y in asked]
    assert archive.dominated(np.array(asked) / GRID).tolist() == wanted


@given(POINTS, st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 8), st.integers(1, 8)))
def test_undominated_share_counts_units_of_the_grid(points, rectangle):
    x, y, width, height = rectangle
    units = [(i, j) for i in range(x, x + width) for j in range(y, y + height)]
    wanted = Fraction(sum(not covered(points, i, j) for i, j in units), len(units))
    found = offered(points).undominated((x / GRID, y / GRID), ((x + width) / GRID, (y + height) / GRID))
    assert found == pytest.approx(float(wanted))


@given(POINTS)
def test_area_counts_units_of_the_square(points):
    wanted = sum(not covered(points, i, j) for i in range(GRID) for j in range(GRID)) / GRID**2
    assert offered(points).area() == pytest.approx(wanted)


def test_of_a_rectangle_without_area_the_corner_counts():
    archive = offered([(4, 4)])
    assert archive.undominated((0.5, 0.5), (0.5, 0.9)) == 0.0
    assert archive.undominated((0.5, 0.4), (0.5, 0.9)) == 1.0


def test_rounding_makes_no_second_policy():
    archive = Archive(8, 1.0, 1.0)
    for risk, loss in ((0.5, 0.5), (0.5 - 1e-15, 0.5 + 1e-15), (0.5 + 1e-15, 0.5 - 1e-15), (0.5 + 1e-15, 0.25)):
        archive.offer(np.array([[risk, loss]]), bits)
    assert archive.points.tolist() == [[0.5 + 1e-15, 0.25]]


def test_nothing_found_leaves_the_whole_square():
    assert Archive(3, 1.0, 1.0).area() == 1.0
