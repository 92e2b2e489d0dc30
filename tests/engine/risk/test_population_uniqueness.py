"""Estimators by name, and what all of them must do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.risk.population_uniqueness import ESTIMATORS, estimate, kept_fraction
from engine.risk.sample import population_size, sample_of
from tests.engine.risk.samples import FRACTIONS, HISTOGRAMS, arrays
from tests.profiles import examples

QUICK = settings(deadline=None, max_examples=examples(40))
NAMES = st.sampled_from(sorted(ESTIMATORS))


@QUICK
@given(NAMES, HISTOGRAMS, FRACTIONS)
def test_every_estimate_is_a_number_from_0_on(name, histogram, fraction):
    found = estimate(name, *arrays(histogram), fraction)
    assert isinstance(found, float)
    assert found >= 0
    assert (found == 0) is (1 not in histogram)


@QUICK
@given(NAMES, HISTOGRAMS, FRACTIONS, st.integers(2, 5))
def test_classes_some_times_as_large_hold_no_unique(name, histogram, fraction, factor):
    sizes, numbers = arrays(histogram)
    assert estimate(name, factor * sizes, numbers, fraction) == 0


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_nothing_kept(name):
    empty = np.empty(0, np.int64)
    assert estimate(name, empty, empty, 0.3) == 0


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.01, math.nan])
def test_a_fraction_out_of_range(name, fraction):
    with pytest.raises(InvalidJob, match="sampling_fraction must be above 0 and at most 1"):
        estimate(name, *arrays({1: 3}), fraction)


def test_a_name_that_is_none():
    with pytest.raises(InvalidJob, match="dankar, pitman, zayatz, snb"):
        estimate("benedetti", *arrays({1: 3}), 0.5)


def test_the_population_is_whole_and_does_not_shrink_with_what_is_suppressed():
    assert [population_size(7, 0.3), population_size(1, 0.4)] == [23, 3]
    fraction = kept_fraction(5, 7, 0.3)
    assert fraction == 5 / 23
    assert sample_of(*arrays({1: 3, 2: 1}), fraction).population == 23


@given(st.integers(1, 10**7), st.data(), st.floats(1e-6, 1))
def test_the_population_is_found_again_from_the_kept_records(records, data, fraction):
    kept = data.draw(st.integers(1, records))
    again = sample_of(np.array([kept]), np.array([1]), kept_fraction(kept, records, fraction))
    assert again.population == population_size(records, fraction)
    assert again.fraction == kept_fraction(kept, records, fraction)
