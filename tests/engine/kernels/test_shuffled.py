"""Records by class, at random within a class: against plain Python, and over all numbers that could be drawn."""

from __future__ import annotations

import itertools
from collections import Counter
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kernels.shuffled import shuffled


def order_of(places, random):
    places = np.array(places, np.int64)
    lowest = int(places.min())
    return shuffled(places, lowest, int(places.max()) - lowest + 1, np.array(random, np.uint64)).tolist()


@given(st.lists(st.tuples(st.integers(3, 9), st.integers(0, 2**64 - 1)), min_size=1, max_size=60))
def test_as_a_shuffle_that_is_sorted_by_class(records):
    places, random = zip(*records, strict=True)
    mixed = list(range(len(places)))
    for last in reversed(range(1, len(mixed))):
        chosen = random[last] % (last + 1)
        mixed[last], mixed[chosen] = mixed[chosen], mixed[last]
    assert order_of(places, random) == sorted(mixed, key=lambda record: places[record])


@pytest.mark.parametrize("places", [[7, 7, 7, 7, 7], [2, 5, 2, 2, 5], [1, 0, 1, 4, 0, 4]])
def test_each_order_of_the_classes_has_the_same_numbers_that_lead_to_it(places):
    draws = itertools.product(*(range(record + 1) for record in range(len(places))))
    found = Counter(tuple(order_of(places, drawn)) for drawn in draws)
    sizes = Counter(places)
    orders = prod(prod(range(1, size + 1)) for size in sizes.values())
    assert len(found) == orders
    assert set(found.values()) == {prod(range(1, len(places) + 1)) // orders}
    for order in found:
        assert [places[record] for record in order] == sorted(places)
