"""The slide negative binomial estimate: its equations, summed over the distribution they are the expectations of."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from engine.risk.newton import ACCURACY
from engine.risk.snb import parameters, shlosser, snb
from tests.engine.risk.samples import CENSUS, FRACTIONS, HISTOGRAMS, arrays, sample
from tests.profiles import examples
from tests.reference import uniqueness as reference

QUICK = settings(deadline=None, max_examples=examples(150))
GEOMETRIC = {size: 1024 >> size for size in range(1, 11)}


@pytest.mark.parametrize("fraction", [0.9, 0.95, 0.99, 1.0])
def test_the_classes_of_one_and_two_expected_are_those_seen(fraction):
    drawn = sample(GEOMETRIC, fraction)
    classes = shlosser(drawn)
    alpha, beta = parameters(drawn, classes)
    ones, twos = (reference.slide_negative_binomial(alpha, beta, drawn.fraction, seen) for seen in (1, 2))
    # the reference solver multiplies by this power where the expectation divides by it
    power = (1 - (1 - drawn.fraction) * (1 - beta)) ** (alpha + 2)
    assert classes * ones == pytest.approx(drawn.uniques, abs=1.001 * ACCURACY)
    assert classes * twos * power**2 == pytest.approx(drawn.pairs, abs=1.001 * ACCURACY)
    in_population = classes * reference.slide_negative_binomial(alpha, beta, 1.0, 1)
    assert snb(*arrays(GEOMETRIC), fraction) == pytest.approx(in_population / drawn.population, rel=1e-12)


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_an_estimate_comes_from_a_root_that_is_a_distribution(histogram, fraction):
    share, drawn = snb(*arrays(histogram), fraction), sample(histogram, fraction)
    if not drawn.uniques:
        assert share == 0
    elif share < math.inf:
        classes = shlosser(drawn)
        alpha, beta = parameters(drawn, classes)
        assert alpha > 0
        assert 0 < beta <= 1
        ones = reference.slide_negative_binomial(alpha, beta, drawn.fraction, 1)
        assert classes * ones == pytest.approx(drawn.uniques, rel=1e-9, abs=1.001 * ACCURACY)
        assert share == pytest.approx(classes * beta**alpha / drawn.population)


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_the_classes_of_the_population(histogram, fraction):
    drawn = sample(histogram, fraction)
    expected = reference.shlosser(histogram, drawn.fraction)
    found = shlosser(drawn)
    # nothing is left of the digits of a weight near 0
    if expected is not None and abs(expected) < 1e6:
        assert found == pytest.approx(float(expected), rel=1e-6)


def test_the_sample_is_the_population():
    uniques, records = CENSUS[1], reference.counts(CENSUS)[0]
    assert snb(*arrays(CENSUS), 1.0) == pytest.approx(uniques / records, rel=1e-9)


def test_each_class_has_one_record():
    assert snb(*arrays({1: 70}), 1.0) == 1.0


@pytest.mark.parametrize(
    ("histogram", "fraction"),
    [
        (CENSUS, 0.1),  # the steps lead out of the parameters
        (CENSUS, 0.2),
        ({1: 58, 2: 6}, 0.95),  # alpha would be negative
        ({1: 50, 2: 20, 8000: 1}, 0.9),  # 1.9^8000 is no double
    ],
)
def test_what_has_no_estimate_meets_no_threshold(histogram, fraction):
    assert snb(*arrays(histogram), fraction) == math.inf
