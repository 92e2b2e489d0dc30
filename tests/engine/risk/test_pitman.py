"""Pitman's estimate: published figures, the likelihood's own equations, and maxima found by bisection."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from engine.risk.newton import ACCURACY
from engine.risk.pitman import parameters, pitman
from tests.engine.risk.samples import CENSUS, FRACTIONS, HISTOGRAMS, arrays, sample
from tests.profiles import examples
from tests.reference.uniqueness import counts, expected_uniques, pitman_gradient, pitman_parameters, seated

QUICK = settings(deadline=None, max_examples=examples(60))
SEATED = [(300, 20.0, 0.5, 1), (300, 5.0, 0.7, 2), (400, 60.0, 0.3, 3), (250, 2.0, 0.75, 6)]


def lies_inside(theta, alpha, classes):
    return 0 < alpha < 1 or alpha < 0 < theta + (classes - 1) * alpha


@pytest.mark.parametrize(("fraction", "published"), [(0.01, 0.1446083531167384), (0.1, 0.27684993883653597)])
def test_the_figures_in_the_reference_solvers_tests(fraction, published):
    assert pitman(*arrays(CENSUS), fraction) == pytest.approx(published, rel=1e-10)


@pytest.mark.parametrize(("records", "theta", "alpha", "seed"), SEATED)
def test_the_parameters_maximize_the_likelihood(records, theta, alpha, seed):
    histogram = seated(records, theta, alpha, seed)
    assert parameters(sample(histogram, 0.1)) == pytest.approx(pitman_parameters(histogram), rel=1e-4)


@pytest.mark.parametrize(("records", "theta", "alpha", "seed"), SEATED)
def test_the_estimate_is_the_expectation_in_a_large_population(records, theta, alpha, seed):
    histogram = seated(records, theta, alpha, seed)
    found = parameters(sample(histogram, 0.001))
    population = 1000 * records
    expected = expected_uniques(*found, population) / population
    assert pitman(*arrays(histogram), 0.001) == pytest.approx(expected, rel=(1 + found[0]) / population)


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_an_estimate_comes_from_a_root_inside_the_parameters(histogram, fraction):
    share = pitman(*arrays(histogram), fraction)
    if not histogram.get(1):
        assert share == 0
    elif share < math.inf:
        theta, alpha = parameters(sample(histogram, fraction))
        assert lies_inside(theta, alpha, counts(histogram)[1])
        assert pitman_gradient(histogram, theta, alpha) == pytest.approx((0, 0), abs=1.001 * ACCURACY)
        assert 0 < share <= 1


@pytest.mark.parametrize(
    "histogram",
    [
        {1: 100},  # alpha would be 1
        {1: 1},  # any parameters fit it
        {1: 11, 2: 39, 3: 31, 4: 21, 9: 20},  # both derivatives vanish at infinity, where the steps lead
    ],
)
def test_what_has_no_estimate_meets_no_threshold(histogram):
    assert pitman(*arrays(histogram), 0.1) == math.inf


def test_an_estimate_beyond_the_population_is_none():
    # the formula holds for a population far larger than theta, which is 93 here
    histogram = {1: 15, 2: 14, 5: 8}
    assert lies_inside(*parameters(sample(histogram, 1.0)), 37)
    assert pitman(*arrays(histogram), 1.0) == math.inf


def test_a_root_outside_the_parameters_is_no_estimate():
    # the reference solver takes this root, and with it far fewer population uniques than there are sample uniques
    histogram = {1: 26, 4: 16, 11: 5, 44: 1, 48: 2, 52: 2, 59: 2}
    theta, alpha = parameters(sample(histogram, 0.5))
    assert pitman_gradient(histogram, theta, alpha) == pytest.approx((0, 0), abs=1.001 * ACCURACY)
    assert not lies_inside(theta, alpha, counts(histogram)[1])
    assert pitman(*arrays(histogram), 0.5) == math.inf


def test_alpha_near_0_where_closed_forms_cancel():
    # by closed forms alone the steps end where the second derivative is -2.8
    histogram = seated(400, 8.0, 0.0, 11)
    theta, alpha = parameters(sample(histogram, 0.1))
    assert pitman_gradient(histogram, theta, alpha) == pytest.approx((0, 0), abs=1.001 * ACCURACY)


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_the_order_of_the_sizes_does_not_matter(histogram, fraction):
    sizes, numbers = arrays(histogram)
    # steps that lead to infinity depend on rounding, and rounding on the order: compare where both arrive
    found = {pitman(sizes, numbers, fraction), pitman(np.ascontiguousarray(sizes[::-1]), numbers[::-1], fraction)}
    finite = [share for share in found if share < math.inf]
    assert finite == pytest.approx(finite[:1] * len(finite), rel=1e-4)
