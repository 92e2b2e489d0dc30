"""Facts of labels from those below them, against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.label_maps import bits_of_labels, label_map, least_by_label

LEAVES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9), st.integers(0, 1000)), min_size=1, max_size=40)


@settings(deadline=None)
@given(leaves=LEAVES, spare=st.integers(0, 3))
def test_a_label_has_the_other_label_of_its_last_leaf(leaves, spare):
    codes, others, _ = (np.array(column, np.int32) for column in zip(*leaves, strict=True))
    width = int(codes.max()) + 1 + spare
    last = {code: other for code, other, _ in leaves}
    assert label_map(codes, others, width).tolist() == [last.get(code, 0) for code in range(width)]


@settings(deadline=None)
@given(leaves=LEAVES, spare=st.integers(0, 3))
def test_a_label_costs_what_its_cheapest_leaf_does(leaves, spare):
    codes = np.array([code for code, _, _ in leaves], np.int32)
    costs = np.array([cost / 7 for _, _, cost in leaves])
    width = int(codes.max()) + 1 + spare
    expected = [min((cost / 7 for of, _, cost in leaves if of == code), default=0.0) for code in range(width)]
    assert least_by_label(codes, costs, width).tolist() == expected


@settings(deadline=None)
@given(labels=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), min_size=1, max_size=20))
def test_labels_have_the_bits_that_their_records_have_by_definition(labels):
    up, records = np.array([label for label, _ in labels], np.int32), np.array([number for _, number in labels])
    total = sum(number for _, number in labels)
    of_label = [sum(number for other, number in labels if other == label) for label in range(5)]
    expected = -sum(number * math.log2(number / total) for number in of_label if number)
    assert bits_of_labels(up, records) == pytest.approx(expected, rel=1e-12, abs=1e-9)
