"""Prices of records against all cells of all level vectors, in plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.cells import Shape
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.prices import prices
from tests.profiles import examples

TALL = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0] * 6], np.int32)
WIDE = np.array([[3, 1, 2, 0], [1, 1, 0, 0]], np.int32)
FLAT = np.array([[0, 1, 2], [0, 0, 0]], np.int32)
LABELS = (TALL, WIDE, FLAT)
RANDOM = settings(deadline=None, max_examples=examples(400))


def shape_with(costs, low, high):
    """Return the shape of `LABELS` with costs per attribute, shape (levels, leaves), and the levels allowed."""
    return Shape(
        np.concatenate([labels.ravel() for labels in LABELS]),
        np.concatenate([one.ravel() for one in costs]),
        np.cumsum([0, *(labels.size for labels in LABELS[:-1])]),
        np.array([labels.shape[1] for labels in LABELS]),
        np.array(low),
        np.array(high),
    )


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
    shape = shape_with(costs, low, high)
    leaf = st.tuples(*(st.integers(0, labels.shape[1] - 1) for labels in LABELS))
    tuples = np.array(draw(st.lists(leaf, min_size=1, max_size=14, unique=True)), np.int32)
    counts = np.array(draw(st.lists(st.integers(1, 4), min_size=len(tuples), max_size=len(tuples))), np.int64)
    weight = st.sampled_from(draw(st.sampled_from([[1.0], [0.0, 0.5, 1.0, 8.0], [0.1, 0.3, 0.7, 1.9, 5.0, 90.0]])))
    weights = np.array(draw(st.lists(weight, min_size=len(tuples), max_size=len(tuples))))
    return shape, tuples, counts, weights, draw(st.integers(1, 5))


def least_allowed(shape, tuples, counts, weights, k):
    """Return the price of each tuple: its weight times the least ratio of any cell that it may be given."""
    least = np.full(counts.size, math.inf)
    costs = np.split(shape.costs, shape.offsets[1:])
    for levels in itertools.product(*map(range, shape.low, shape.high + 1)):
        cells = {}
        for r, values in enumerate(tuples):
            cell = tuple(int(LABELS[a][level, values[a]]) for a, level in enumerate(levels))
            cells.setdefault(cell, []).append(r)
        for members in cells.values():
            heaviest = sorted((weights[r] for r in members for _ in range(counts[r])), reverse=True)[:k]
            if len(heaviest) == k and sum(heaviest) > 0:
                first = tuples[members[0]]
                cost = sum(costs[a][level * LABELS[a].shape[1] + first[a]] for a, level in enumerate(levels))
                least[members] = np.minimum(least[members], k * cost / sum(heaviest))
    return [weight * ratio if weight else 0.0 for weight, ratio in zip(weights, least, strict=True)]


@RANDOM
@given(priced(), st.integers(1, 3))
def test_a_price_is_the_least_that_any_cell_allows(case, threads):
    shape, tuples, counts, weights, k = case
    found = prices(shape, np.ascontiguousarray(tuples.T), counts, weights, k, threads, Deadline())
    assert found == pytest.approx(least_allowed(shape, tuples, counts, weights, k), rel=1e-12)


def test_prices_of_larger_tables_are_the_least_as_well():
    """Most of their cells are left out, and many records of a cell have equal weights."""
    random = np.random.default_rng(5)
    every = np.array(list(itertools.product(range(6), range(4), range(3))), np.int32)
    steps = [np.cumsum(np.repeat(random.random((len(one), 1)), one.shape[1], axis=1), axis=0) for one in LABELS]
    for _ in range(60):
        tuples = every[random.permutation(72)[: random.integers(5, 60)]]
        counts = random.integers(1, 3, len(tuples))
        weights = np.round(random.lognormal(0, random.choice([0.2, 1.0, 2.0]), len(tuples)), 1)
        shape, k = shape_with([one * random.random() for one in steps], [0, 0, 0], [3, 1, 1]), random.integers(2, 8)
        found = prices(shape, np.ascontiguousarray(tuples.T), counts, weights, int(k), 2, Deadline())
        assert found == pytest.approx(least_allowed(shape, tuples, counts, weights, k), rel=1e-12)


def test_a_pass_without_time_has_no_prices():
    shape = Shape(TALL.ravel(), np.zeros(TALL.size), *(np.array([one]) for one in (0, 6, 0, 3)))
    codes, ones = np.arange(6, dtype=np.int32)[None], np.ones(6)
    assert prices(shape, codes, ones.astype(np.int64), ones, 2, 1, Deadline(0)) is None
