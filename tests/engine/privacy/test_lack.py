"""Features are those that are put together of one feature for each group of values, and never that many."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.privacy.lack import MOST_FEATURES, of_cumulative_shares, of_shares


def together(single, number):
    """Put the columns of a matrix together, as near as may be to equally many each."""
    begins = [int(place * number / min(number, MOST_FEATURES)) for place in range(min(number, MOST_FEATURES))]
    return np.array([single[:, a:b].sum(axis=1) for a, b in zip(begins, [*begins[1:], number], strict=True)]).T


@given(st.integers(1, 200), st.integers(1, 3), st.randoms(use_true_random=False))
def test_of_shares(values, levels, random):
    nodes = np.array([[random.randrange(values) for _ in range(values)] for _ in range(levels)])
    single = np.concatenate([(row[:, None] == np.arange(row.max() + 1)) for row in nodes], axis=1)
    lack = of_shares(nodes, 0.5, 0.1)
    assert lack.features.tolist() == together(single, single.shape[1]).tolist()
    assert lack.weights.tolist() == [0.5] * lack.features.shape[1]


@given(st.integers(1, 200))
def test_of_cumulative_shares(values):
    single = np.array([[value <= other for other in range(values)] for value in range(values)])
    lack = of_cumulative_shares(values, 0.25, 0.1)
    assert lack.features.tolist() == together(single, values).tolist()
    assert lack.weights.tolist() == [0.25] * lack.features.shape[1]


@pytest.mark.parametrize(
    "made", [lambda v: of_shares(np.arange(v)[None, :], 0.5, 0), lambda v: of_cumulative_shares(v, 1, 0)]
)
def test_memory_grows_with_the_values_and_not_with_their_square(made):
    values = 6000
    tracemalloc.start()
    try:
        made(values)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * values * MOST_FEATURES * 5 < 8 * values**2 / 10
