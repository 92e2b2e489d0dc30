"""The search with measures whose bounds depend on the classes of a box, which get smaller as it is halved."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.engine.search.exact_limits import limits, problem, searched
from tests.profiles import examples
from tests.reference.lattice import solve
from tests.reference.utility import CLASS_WISE

THOROUGH = settings(deadline=None, max_examples=examples(100))


@pytest.mark.parametrize("measure", CLASS_WISE)
@THOROUGH
@given(seed=st.integers(0, 10**6), small=st.sampled_from([1, 16]), place=st.integers(0, 26))
# at these, weights of larger classes were added to a bound of smaller ones
@example(seed=123, small=16, place=7)
@example(seed=115, small=16, place=8)
@example(seed=232, small=16, place=5)
def test_the_solution_is_that_of_enumeration(measure, seed, small, place):
    drawn = problem(seed, [{"model": "k-anonymity", "k": 3}], measure, f=0.25)
    possible = limits(drawn)
    drawn["limit"] = possible[place % len(possible)]
    expected, found = solve(drawn), searched(drawn, small=small)
    assert found.optimal
    assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)
