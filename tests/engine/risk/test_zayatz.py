"""Zayatz' estimate against exact hypergeometric probabilities, and against published figures."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from engine.risk.at_risk import sample_uniqueness
from engine.risk.zayatz import zayatz
from tests.engine.risk.samples import CENSUS, FRACTIONS, HISTOGRAMS, arrays, sample
from tests.profiles import examples
from tests.reference.uniqueness import zayatz as exact

QUICK = settings(deadline=None, max_examples=examples(150))


@pytest.mark.parametrize(
    ("fraction", "published"), [(0.1, 0.3207402393466189), (0.2, 0.3577099234829125), (1.0, 0.5142895033485844)]
)
def test_the_figures_in_the_reference_solvers_tests(fraction, published):
    assert zayatz(*arrays(CENSUS), fraction) == pytest.approx(published, rel=1e-9)


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_any_histogram(histogram, fraction):
    expected = exact(histogram, sample(histogram, fraction).population)
    assert zayatz(*arrays(histogram), fraction) == pytest.approx(float(expected), rel=1e-10)


def test_classes_too_large_to_be_drawn_once():
    histogram = {1: 5, 2: 1, 1500: 2}
    expected = exact(histogram, sample(histogram, 0.9).population)
    assert zayatz(*arrays(histogram), 0.9) == pytest.approx(float(expected), rel=1e-10)


def test_a_population_beyond_32_bits():
    histogram = {1: 3, 2: 4, 70: 1}
    population = 3 * 10**9
    fraction = 81 / population
    assert sample(histogram, fraction).population == population
    assert zayatz(*arrays(histogram), fraction) == pytest.approx(float(exact(histogram, population)), rel=1e-10)


@QUICK
@given(HISTOGRAMS)
def test_a_sample_that_is_the_population_has_its_own_uniques(histogram):
    sizes, numbers = arrays(histogram)
    assert zayatz(sizes, numbers, 1.0) == pytest.approx(sample_uniqueness(sizes.repeat(numbers)), rel=1e-12)


@QUICK
@given(HISTOGRAMS)
def test_the_larger_the_population_the_smaller_its_share_of_uniques(histogram):
    shares = [zayatz(*arrays(histogram), fraction) for fraction in (1.0, 0.7, 0.3, 0.1, 0.01, 0.0001)]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(shares))


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_the_order_of_the_sizes_does_not_matter(histogram, fraction):
    sizes, numbers = arrays(histogram)
    assert zayatz(sizes[::-1], numbers[::-1], fraction) == pytest.approx(zayatz(sizes, numbers, fraction), rel=1e-12)
