"""Facts of labels from those of their leaves, against dictionaries."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.label_maps import label_map, least_by_label

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
