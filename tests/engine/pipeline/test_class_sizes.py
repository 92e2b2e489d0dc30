"""The distribution of class sizes, against bins that are filled by looking at every class."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.pipeline.class_sizes import size_distribution
from tests.reference.output import bins


@given(st.integers(1, 40), st.lists(st.integers(0, 5000), max_size=40))
def test_the_bins_are_those_of_a_look_at_every_class(smallest, above):
    sizes = [smallest + more for more in above]
    assert size_distribution(np.array(sizes, np.int64), smallest) == bins(sizes, smallest)


@given(st.integers(1, 1000), st.integers(0, 40), st.sampled_from([-1, 0]))
def test_sizes_at_the_edge_of_a_bin(smallest, doublings, step):
    """A class of exactly k times a power of two opens a bin, one record fewer is in the bin before."""
    edge = (smallest << doublings) + step
    if edge < smallest:
        return
    last = size_distribution(np.array([edge], np.int64), smallest)[-1]
    assert last["from"] <= edge <= last["to"]
    assert last == {"from": smallest << (doublings + step), "to": 2 * last["from"] - 1, "classes": 1, "records": edge}


def test_empty_bins_in_the_middle_stay():
    assert size_distribution(np.array([20, 3, 4], np.int64), 3) == [
        {"from": 3, "to": 5, "classes": 2, "records": 7},
        {"from": 6, "to": 11, "classes": 0, "records": 0},
        {"from": 12, "to": 23, "classes": 1, "records": 20},
    ]
