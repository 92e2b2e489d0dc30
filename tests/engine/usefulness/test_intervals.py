"""Confidence intervals and their overlap, by the formulas of the textbook."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.usefulness.intervals import ConfidenceInterval, moved_by_one, of_mean, of_proportion, overlap


def test_the_interval_of_a_mean():
    """Of 2, 4, 4, 6: mean 4, variance 8/3."""
    found = of_mean(np.array([2.0, 4.0, 6.0, np.nan]), np.array([1, 2, 1, 9]))
    half = 1.96 * math.sqrt(8 / 3 / 4)
    assert found.interval == pytest.approx((4 - half, 4 + half), rel=1e-4)
    assert (found.number, found.variance) == (4, pytest.approx(8 / 3))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30))
def test_the_interval_of_a_mean_is_that_of_single_values(values):
    found = of_mean(np.array(sorted(set(values)), float), np.array([values.count(one) for one in sorted(set(values))]))
    half = 1.959963984540054 * statistics.stdev(values) / math.sqrt(len(values))
    ends = statistics.fmean(values) - half, statistics.fmean(values) + half
    assert found.interval == pytest.approx(ends, abs=1e-9)


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


def mean_of(values):
    return of_mean(np.array(values, float), np.ones(len(values), np.int64))


within = st.integers(0, 10)
samples = st.one_of(
    st.lists(within, min_size=4, max_size=60),
    st.integers(1, 40).map(lambda few: [0] * few + [10] * (200 - few)),
)


@given(samples, samples, st.integers(0), st.integers(0), within, within)
def test_one_value_of_each_side_moves_an_overlap_by_no_more_than_is_said(one, other, place, second, value, another):
    """From one end of the width to the other, in samples of which nearly all values are alike."""
    moved = moved_by_one(mean_of(one), mean_of(other), 10)
    changed = [value if at == place % len(one) else old for at, old in enumerate(one)]
    beside = [another if at == second % len(other) else old for at, old in enumerate(other)]
    before = overlap(mean_of(one).interval, mean_of(other).interval)
    for left, right in ((changed, other), (one, beside), (changed, beside)):
        assert abs(overlap(mean_of(left).interval, mean_of(right).interval) - before) <= moved + 1e-12


def test_how_far_one_value_moves_an_overlap():
    """Of 10,000 values by a sixtieth; where all are the same, one value changes everything."""
    many = mean_of([*range(11)] * 909)
    assert moved_by_one(many, many, 10) == pytest.approx(0.017, abs=0.001)
    assert moved_by_one(many, mean_of([3, 3, 3]), 10) == math.inf
    assert moved_by_one(many, many, math.inf) == math.inf


def test_one_value_moves_everything_where_doubles_make_no_interval():
    found = mean_of([1e17, 1e17 + 16] * 500)
    assert moved_by_one(found, found, 16) == math.inf


@pytest.mark.parametrize(
    "values", [[math.inf, 1.0], [math.inf, -math.inf], [-math.inf] * 2, [1e200, -1e200], [1e308] * 3]
)
@pytest.mark.filterwarnings("error")
def test_numbers_beyond_doubles_have_no_interval(values):
    assert mean_of([*values, 3.0, 4.0]) is None
    # values that no record has do not count
    assert of_mean(np.array([*values, 3.0, 4.0]), np.array([0] * len(values) + [1, 1])).number == 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_no_digit_follows_the_order_of_the_values(values, random):
    other = random.sample(values, len(values))
    assert of_mean(np.array(values), np.ones(len(values), int)) == of_mean(np.array(other), np.ones(len(values), int))
