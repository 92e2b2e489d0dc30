"""Heuristics: what they return is a solution, as the reference says, and never better than the best; ways by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings

from engine.search.algorithms.datafly import datafly
from engine.search.algorithms.igreedy import igreedy
from engine.search.algorithms.lattice_based import lattice_based
from engine.search.registry import ALGORITHMS
from engine.utility.information_loss import leading
from tests.engine import build
from tests.engine.search.six_records import SIX
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import evaluate, rounded, solve

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(150))


@pytest.mark.parametrize("name", ["datafly", "igreedy", "lattice-based"])
@SLOW_START
@given(problem=any_problems() | problems())
def test_what_is_found_is_a_solution(name, problem):
    search = build.search_problem(problem)
    method = ALGORITHMS[name]()
    assert not method.is_exact(search)
    found, best = method.run(search), solve(problem)
    if found is None:
        return
    loss, suppressed = evaluate(problem, found.levels)
    assert found.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert found.suppressed == suppressed <= math.floor(problem["limit"] * search.table.records)
    assert search.table.counts[found.suppressed_tuples].sum() == suppressed
    assert (rounded(loss), sum(found.levels), found.levels) >= (rounded(best.loss), sum(best.levels), best.levels)
    assert leading(found.lower_bound) <= leading(best.loss) * (1 + 1e-9) + 1e-12
    if found.optimal:
        assert found.levels == best.levels
        assert found.lower_bound == found.loss


@SLOW_START
@given(problems())
def test_datafly_and_igreedy_find_a_solution_where_the_top_is_one(problem):
    search = build.search_problem(problem)
    if evaluate(problem, search.lattice.high)[1] <= search.limit:
        assert datafly(search) is not None
        assert igreedy(search) is not None


def six(k, limit=0.0):
    return build.search_problem({**SIX, "models": [{"model": "k-anonymity", "k": k}], "limit": limit})


def test_datafly_generalizes_the_attribute_with_most_values():
    # 3 and 2 values; at (1, 0) 2 and 2, the first attribute again; (2, 0) has 3 records with b0 and 3 with b1
    found = datafly(six(2))
    assert (found.levels, found.checked) == ((2, 0), 3)
    # a is generalized wholly, b not at all
    assert found.loss == pytest.approx(1 / 2)
    # (0, 1) makes pairs and loses nothing of a; of b the share rises from 1/4 to 1/2, (1/2 - 1/4) / (1 - 1/4) = 1/3
    assert (ALGORITHMS["optimal"]().run(six(2)).levels, found.optimal) == ((0, 1), False)


def test_igreedy_prefers_the_largest_smallest_class():
    # (1, 0) has classes of 2, 2, 1 and 1 records, (0, 1) of 2, 2 and 2
    found = igreedy(six(2))
    assert (found.levels, found.checked) == ((0, 1), 3)
    assert found.loss == pytest.approx(1 / 6)


def test_igreedy_breaks_ties_as_datafly_does():
    # from (0, 1): (1, 1) and (0, 2) both have a smallest class of 2; a has 3 values there and b one
    found = igreedy(six(3))
    assert (found.levels, found.checked) == ((2, 1), 7)
    assert found.loss == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize(
    ("limit", "levels", "suppressed", "loss"),
    [
        # (1, 1) suppresses the two records with a2, (2, 1) none; (2, 2) loses more
        (0.0, (2, 1), 0, (1 + 1 / 3) / 2),
        # with them allowed: (4 * 2/3 + 2 - 6/3) / (6 - 6/3) of a, (4 * 1/2 + 2 - 6/4) / (6 - 6/4) of b
        (0.34, (1, 1), 2, (2 / 3 + 5 / 9) / 2),
    ],
)
def test_lattice_based_search_climbs_until_nothing_is_better(limit, levels, suppressed, loss):
    # (1, 0) and (0, 1) suppress all six records, so that the smaller vector is taken, then (1, 1)
    found = lattice_based(six(3, limit))
    assert (found.levels, found.suppressed) == (levels, suppressed)
    assert found.loss == pytest.approx(loss)


def test_a_way_up_without_a_solution_ends_at_the_top():
    for climb in (datafly, igreedy, lattice_based):
        assert climb(six(7)) is None
