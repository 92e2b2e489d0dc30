"""Confidence intervals and their overlap, by the formulas of the textbook."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.usefulness.intervals import ConfidenceInterval, of_mean, of_proportion, overlap


def test_the_interval_of_a_mean():
    """Of 2, 4, 4, 6: mean 4, variance 8/3."""
    found = of_mean(np.array([2.0, 4.0, 6.0, np.nan]), np.array([1, 2, 1, 9]))
    half = 1.96 * math.sqrt(8 / 3 / 4)
    assert found == pytest.approx((4 - half, 4 + half), rel=1e-4)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30))
def test_the_interval_of_a_mean_is_that_of_single_values(values):
    found = of_mean(np.array(sorted(set(values)), float), np.array([values.count(one) for one in sorted(set(values))]))
    half = 1.959963984540054 * statistics.stdev(values) / math.sqrt(len(values))
    assert found == pytest.approx((statistics.fmean(values) - half, statistics.fmean(values) + half), abs=1e-9)


def test_the_interval_of_a_share():
    """A quarter of 100: half of it is 1.96 times sqrt(0.25 x 0.75 / 100)."""
    assert of_proportion(25, 100) == pytest.approx((0.25 - 0.08487, 0.25 + 0.08487), abs=1e-5)


def test_too_few_values_have_no_interval():
    assert of_mean(np.array([3.0, np.nan]), np.array([1, 5])) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 1), (0, 1), 1),
        ((0, 1), (2, 3), 0),
        ((0, 2), (1, 3), 0.5),
        # half of the first lies in the second, which lies in the first wholly
        ((0, 2), (0.5, 1.5), (1 / 2 + 1) / 2),
        ((1, 1), (1, 1), 1),
        ((1, 1), (0, 2), 0.5),
        ((1, 1), (2, 2), 0),
    ],
)
def test_overlaps_by_hand(one, other, expected):
    assert overlap(ConfidenceInterval(*one), ConfidenceInterval(*other)) == pytest.approx(expected)


ends = st.tuples(st.floats(-10, 10), st.floats(-10, 10)).map(lambda pair: ConfidenceInterval(*sorted(pair)))


@given(ends, ends)
def test_an_overlap_is_a_share_and_symmetric(one, other):
    assert 0 <= overlap(one, other) <= 1
    assert overlap(one, other) == pytest.approx(overlap(other, one))
    assert overlap(one, one) == 1
