"""The first solution: greedy from the top of the lattice down."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from engine.search.check import Checker
from engine.search.greedy import greedy
from tests.engine import build
from tests.engine.strategies import problems
from tests.profiles import examples

AGES = [(str(age), f"{age // 10}0s", "*") for age in (31, 32, 33, 34, 51, 52, 53, 54)]
SEXES = [("F", "*"), ("M", "*")]


def found_by(search, *, inherited=None):
    checker = Checker(search)
    if inherited is not None:
        checker.inherited = inherited
    found = list(greedy(checker, search, lambda: False))
    return found[-1] if found else None, checker.checked


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(200))
@given(problems())
def test_what_was_no_solution_is_looked_at_once_where_no_specialization_of_it_is_one(problem):
    search = build.search_problem(problem)
    (once, few), (again, many) = found_by(search), found_by(search, inherited=False)
    assert few <= many
    assert (once is None) == (again is None)
    if once is not None:
        assert (once.levels, once.suppressed, once.loss) == (again.levels, again.suppressed, again.loss)


@pytest.mark.parametrize(("inherited", "checked"), [(True, 4), (False, 5)])
def test_an_attribute_that_was_no_solution_is_not_tried_again(inherited, checked):
    # by sex there are too many single women; ages can be decades, and no more
    records = [((age, "M"), {"s": "x"}) for age, *_ in AGES for _ in range(2)] + [(("31", "F"), {"s": "x"})]
    search = build.search_problem(
        {
            "records": records,
            "hierarchies": [AGES, SEXES],
            "models": [{"model": "k-anonymity", "k": 3}],
            "limit": 0.0,
            "measure": "loss",
            "combine": "sum",
            "weights": [1.0, 9.0],
            "f": 0.5,
        }
    )
    found, seen = found_by(search, inherited=inherited)
    assert found.levels == (1, 1)
    assert seen == checked
