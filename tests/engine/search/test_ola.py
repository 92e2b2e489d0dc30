"""OLA against full enumeration in plain Python."""

from __future__ import annotations

import itertools
import re
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.lattice.space import Lattice
from engine.search.algorithms.ola import METHOD, ola
from engine.search.nodes.node_search import NodeSearch
from tests.engine import build
from tests.engine.search.test_flash import PAIRS, assert_found, assert_valid
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import evaluate, readings, solve

THOROUGH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(400))


@THOROUGH
@given(problem=any_problems() | problems(), unlimited=st.booleans(), data=st.data())
def test_it_is_exact_where_it_says_so_and_valid_elsewhere(problem, unlimited, data):
    problem = problem if unlimited else {**problem, "limit": 0.0}
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    high = [data.draw(st.sampled_from([bottom, height, height])) for bottom, height in zip(low, heights, strict=True)]
    search = build.search_problem(problem, low, high)
    found, expected = ola(search), solve(problem, low, high)
    if METHOD.is_exact(search):
        assert_found(found, expected)
    else:
        assert_valid(found, problem, expected)


@THOROUGH
@given(problems())
def test_every_minimal_solution_of_a_monotone_problem_is_checked(problem):
    seen = set()
    check = NodeSearch.check

    def recorded(self, levels, classes=None):
        seen.add(levels)
        return check(self, levels, classes)

    search = build.search_problem(problem)
    with patch.object(NodeSearch, "check", recorded):
        ola(search)
    read = readings(problem)
    nodes = itertools.product(*(range(high + 1) for high in search.lattice.high))
    solutions = {levels for levels in nodes if evaluate(problem, levels, read)[1] <= search.limit}
    for levels in solutions:
        below = (
            (*levels[:a], level - 1, *levels[a + 1 :])
            for a, level in enumerate(levels)
            if level > search.lattice.low[a]
        )
        assert levels in seen or not solutions.isdisjoint(below)


def test_assuming_monotonicity_loses_utility():
    found = ola(build.search_problem(PAIRS))
    # the lower one of two neighbours is a solution, which is taken to say what the upper one is
    assert (found.levels, found.loss, found.suppressed, found.checked, found.optimal) == ((0,), 1.0, 4, 1, False)


def test_halves_are_searched_below_a_solution_and_above_a_failure():
    # two values become one at level 5 of 0 to 8: levels 4, 6 and 5 are looked at, no neighbour is left
    rows = [tuple(f"{value}{level}" if level < 5 else f"both{level}" for level in range(9)) for value in "ab"]
    records = [((row[0],), {"s": "x"}) for row in rows]
    found = ola(build.search_problem({**PAIRS, "hierarchies": [rows], "records": records, "limit": 0.0}))
    assert (found.levels, found.checked, found.optimal) == ((5,), 3, True)


def test_attributes_with_one_level_need_no_axis():
    ones = [[(f"x{a}",)] for a in range(70)]
    records = [((*(row[0][0] for row in ones), value), {"s": "x"}) for value in ("a0", "a1", "a2", "a3")]
    trees = [*ones, *PAIRS["hierarchies"]]
    problem = {**PAIRS, "hierarchies": trees, "records": records, "weights": [1.0] * 71, "limit": 0.0}
    assert ola(build.search_problem(problem)).levels == (*[0] * 70, 1)


@pytest.mark.parametrize(
    ("levels", "columns", "size"),
    [(2, 29, "536,870,912"), (10, 20, "about 10^20"), (10, 5000, "about 10^5000"), (3, 40, "about 10^19")],
)
def test_a_lattice_too_large_for_tags_is_refused_before_any_are_made(levels, columns, size):
    """Three to the fortieth is 12,157,665,459,056,928,801; Python writes no number of more than 4,300 digits."""
    problem = build.search_problem(PAIRS)
    wide = Lattice((0,) * columns, (levels - 1,) * columns)
    with pytest.raises(InvalidJob, match=rf"268,435,456 at most; this job has {re.escape(size)}: narrow"):
        ola(type(problem)(problem.table, wide, problem.models, problem.evaluator, problem.limit))
