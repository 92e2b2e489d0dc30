"""The decision rule picks the estimate it should, and gives the published figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from engine.risk.dankar import dankar
from engine.risk.pitman import pitman
from engine.risk.snb import snb
from engine.risk.zayatz import zayatz
from tests.engine.risk.samples import CENSUS, FRACTIONS, HISTOGRAMS, arrays, sample
from tests.profiles import examples

QUICK = settings(deadline=None, max_examples=examples(40))
GEOMETRIC = {size: 1024 >> size for size in range(1, 11)}


@pytest.mark.parametrize(
    ("fraction", "published"),
    [
        (0.01, 0.1446083531167384),  # Pitman
        (0.1, 0.27684993883653597),  # Pitman: the limit itself belongs to it
        (0.2, 0.3577099234829125),  # Zayatz, for want of a slide negative binomial estimate
        (1.0, 0.5142895033485844),  # the sample's own uniqueness
    ],
)
def test_the_figures_in_the_reference_solvers_tests(fraction, published):
    assert dankar(*arrays(CENSUS), fraction) == pytest.approx(published, rel=1e-9)


def test_the_lower_estimate_counts_above_a_tenth():
    estimates = [estimator(*arrays(GEOMETRIC), 0.9) for estimator in (snb, zayatz)]
    assert estimates[0] < estimates[1]
    assert dankar(*arrays(GEOMETRIC), 0.9) == estimates[0]


def test_no_other_estimate_stands_in_for_pitmans():
    assert zayatz(*arrays({1: 100}), 0.05) < math.inf
    assert dankar(*arrays({1: 100}), 0.05) == math.inf


@QUICK
@given(HISTOGRAMS, FRACTIONS)
def test_the_rule(histogram, fraction):
    found = dankar(*arrays(histogram), fraction)
    # the fraction that counts is that of the whole records of the population
    drawn = sample(histogram, fraction)
    if 10 * drawn.records <= drawn.population:
        assert found == pitman(*arrays(histogram), fraction)
    else:
        assert found <= zayatz(*arrays(histogram), fraction) < math.inf
        assert found in {estimator(*arrays(histogram), fraction) for estimator in (snb, zayatz)}
