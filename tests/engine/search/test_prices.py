"""Prices of records against all cells of all level vectors, in plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.recoding import Shape
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.prices import prices
from tests.profiles import examples

TALL = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0] * 6], np.int32)
WIDE = np.array([[3, 1, 2, 0], [1, 1, 0, 0]], np.int32)
FLAT = np.array([[0, 1, 2], [0, 0, 0]], np.int32)
LABELS = (TALL, WIDE, FLAT)
RANDOM = settings(deadline=None, max_examples=examples(400))


@st.composite
def priced(draw):
    """Draw a shape with the levels allowed, distinct tuples, their records and weights, and k."""
    low, high = [], []
    for labels in LABELS:
        levels = sorted(draw(st.lists(st.integers(0, len(labels) - 1), min_size=2, max_size=2)))
        low.append(draw(st.sampled_from([0, levels[0]])))
        high.append(draw(st.sampled_from([len(labels) - 1, levels[1]])))
    steps = st.sampled_from([0.0, 0.125, 0.25, 1.0])
    costs = [
        np.cumsum([[draw(steps)] * len(leaves) for leaves in labels], axis=0)[:, :1] + np.zeros(labels.shape)
        for labels in LABELS
    ]
    shape = Shape(
        np.concatenate([labels.ravel() for labels in LABELS]),
        np.concatenate([one.ravel() for one in costs]),
        np.cumsum([0, *(labels.size for labels in LABELS[:-1])]),
        np.array([labels.shape[1] for labels in LABELS]),
        np.array(low),
        np.array(high),
    )
    leaf = st.tuples(*(st.integers(0, labels.shape[1] - 1) for labels in LABELS))
    tuples = np.array(draw(st.lists(leaf, min_size=1, max_size=14, unique=True)), np.int32)
    counts = np.array(draw(st.lists(st.integers(1, 4), min_size=len(tuples), max_size=len(tuples))), np.int64)
    weight = st.sampled_from(draw(st.sampled_from([[1.0], [0.0, 0.5, 1.0, 8.0], [0.1, 0.3, 0.7, 1.9, 5.0, 90.0]])))
    weights = np.array(draw(st.lists(weight, min_size=len(tuples), max_size=len(tuples))))
    return shape, costs, tuples, counts, weights, draw(st.integers(1, 5))


@RANDOM
@given(priced(), st.integers(1, 3))
def test_a_price_is_the_least_that_any_cell_allows(case, threads):
    shape, costs, tuples, counts, weights, k = case
    least = np.full(counts.size, math.inf)
    for levels in itertools.product(*map(range, shape.low, shape.high + 1)):
        cells = {}
        for r, values in enumerate(tuples):
            cell = tuple(int(LABELS[a][level, values[a]]) for a, level in enumerate(levels))
            cells.setdefault(cell, []).append(r)
        for members in cells.values():
            heaviest = sorted((weights[r] for r in members for _ in range(counts[r])), reverse=True)[:k]
            if len(heaviest) == k and sum(heaviest) > 0:
                cost = sum(costs[a][level, tuples[members[0], a]] for a, level in enumerate(levels))
                least[members] = np.minimum(least[members], k * cost / sum(heaviest))
    expected = [weight * ratio if weight else 0.0 for weight, ratio in zip(weights, least, strict=True)]
    found = prices(shape, np.ascontiguousarray(tuples.T), counts, weights, k, threads, Deadline())
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_pass_without_time_has_no_prices():
    shape = Shape(TALL.ravel(), np.zeros(TALL.size), *(np.array([one]) for one in (0, 6, 0, 3)))
    codes, ones = np.arange(6, dtype=np.int32)[None], np.ones(6)
    assert prices(shape, codes, ones.astype(np.int64), ones, 2, 1, Deadline(0)) is None
