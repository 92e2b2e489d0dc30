"""Groups of alike records against the algorithm as the paper has it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.tables.release.mdav import mdav, standardized
from tests.profiles import examples
from tests.reference import perturbed as reference


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4), st.integers(1, 9))
def test_groups_are_those_of_the_paper(seed, records, columns, k):
    values = np.random.default_rng(seed).normal(size=(records, columns))
    found = mdav(values, k)
    groups = {frozenset(np.flatnonzero(found == number).tolist()) for number in set(found.tolist())}
    assert groups == {frozenset(group) for group in reference.mdav(values.tolist(), k)}


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80), st.integers(1, 9), st.integers(1, 3))
def test_sizes_are_from_k_to_twice_k_whatever_ties(seed, records, k, values):
    numbers = np.random.default_rng(seed).integers(0, values, (records, 2)).astype(np.float64)
    sizes = np.bincount(mdav(numbers, k))
    assert sizes.sum() == records
    assert len(sizes) == max(1, records // k)
    if records >= k:
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(-1000, 1000), st.just(7.5), st.integers(0, 1)), min_size=1, max_size=40))
def test_columns_have_one_scale(records):
    found = standardized(np.array(records, np.float64))
    assert found == pytest.approx(np.array(reference.standardized(records)), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-250, 1.0, 1e300])
def test_missing_values_are_at_the_mean_and_scales_do_not_matter(scale):
    found = standardized(np.array([[1.0], [3.0], [np.nan]]) * scale)
    assert found[:, 0].tolist() == pytest.approx([-1.0, 1.0, 0.0])
