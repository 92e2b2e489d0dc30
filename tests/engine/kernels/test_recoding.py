"""Clusters against what they must satisfy, counted in plain Python over all level vectors."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.cells import Shape
from engine.kernels.clusters import agglomerate, as_pairs
from tests.profiles import examples

LABELS = (
    np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]], np.int32),
    np.array([[0, 1, 2], [0, 0, 0]], np.int32),
)
"""Labels of four and of three leaves, by level."""
COSTS = (np.array([[0.0] * 4, [0.25] * 4, [0.75] * 4]), np.array([[0.0] * 3, [0.5] * 3]))
SHAPE = Shape(
    np.concatenate([one.ravel() for one in LABELS]),
    np.concatenate([one.ravel() for one in COSTS]),
    np.array([0, 12]),
    np.array([4, 3]),
    np.zeros(2, np.int64),
    np.array([2, 1]),
)
REAL = settings(deadline=None, max_examples=examples(300))


@st.composite
def tables(draw):
    """Draw distinct tuples, at least k records in all, and k."""
    tuples = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=10, unique=True))
    k = draw(st.integers(2, 4))
    counts = draw(st.lists(st.integers(1, 6), min_size=len(tuples), max_size=len(tuples)))
    counts[0] += k
    return np.array(tuples, np.int32), np.array(counts, np.int64), k


@REAL
@given(tables())
def test_clusters_have_all_records_in_classes_of_k_under_the_lowest_labels_that_they_share(case):
    codes, counts, k = case
    found = agglomerate(SHAPE, codes, counts, k)
    tuples, classes, records = as_pairs(found)
    assert np.array_equal(np.bincount(tuples, weights=records, minlength=counts.size), counts)
    cost = 0.0
    for one in set(classes.tolist()):
        members = codes[tuples[classes == one]]
        size = records[classes == one].sum()
        assert size >= k
        for a, labels in enumerate(LABELS):
            lowest = next(level for level in range(len(labels)) if len(set(labels[level][members[:, a]].tolist())) == 1)
            assert found.levels[one, a] == lowest
            cost += size * COSTS[a][lowest, 0]
    alive = found.head >= 0
    assert np.isclose((found.size * found.cost)[alive].sum(), cost)
