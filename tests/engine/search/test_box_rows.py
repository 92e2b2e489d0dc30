"""What belongs to the rows of a box."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.boxes.box_rows import Ladders


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_labels_are_found_at_a_higher_level_and_those_without_a_leaf_are_the_first(lowest, middle, highest):
    levels = [lowest, [middle[x] for x in lowest], [highest[middle[x]] for x in lowest]]
    ladders = Ladders([SimpleNamespace(codes=np.array(levels, np.int32), labels=("abcdef", "abcd", "abc"))])
    for low, widest in enumerate((6, 4, 3)):
        for high in range(low, 3):
            above = dict(zip(levels[low], levels[high], strict=True))
            assert ladders.up(0, low, high).tolist() == [above.get(label, 0) for label in range(widest)]
