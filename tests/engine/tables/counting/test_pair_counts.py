"""Pairs of a class and a value are counted, whether most of them occur or few."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tables.counting.pair_counts import pair_counts


@pytest.mark.parametrize(("size", "width"), [(3, 2), (50, 1000)])
@given(st.data())
def test_each_pair_is_counted(size, width, data):
    pairs = data.draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, width - 1)), max_size=40))
    owner, codes = (np.array([pair[place] for pair in pairs], np.int32) for place in (0, 1))
    offsets, values, counts = pair_counts(owner, codes, size, width)
    found = {
        (one, int(values[at])): int(counts[at]) for one in range(size) for at in range(offsets[one], offsets[one + 1])
    }
    assert found == dict(Counter(pairs))
    assert offsets.size == size + 1
    assert all((np.diff(values[offsets[one] : offsets[one + 1]]) > 0).all() for one in range(size))
