"""Every algorithm that says it is exact for a problem, against full enumeration in plain Python."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.search.algorithms.best_first import best_first
from engine.search.algorithms.depth_first import depth_first
from engine.search.registry import ALGORITHMS
from engine.utility.information_loss import leading
from tests.engine import build
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import evaluate, solve

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(150))
HERE = ["best-first", "best-first-without-prediction", "depth-first"]


def assert_found(solution, expected):
    if expected is None:
        assert solution is None
        return
    assert (solution.levels, solution.suppressed) == (expected.levels, expected.suppressed)
    assert solution.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
    assert solution.lower_bound == solution.loss
    assert solution.optimal is True


@pytest.mark.parametrize("name", HERE)
@SLOW_START
@given(problem=any_problems() | problems(), data=st.data())
def test_the_exact_ones_find_what_enumeration_finds(name, problem, data):
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    high = [data.draw(st.sampled_from([bottom, height, height])) for bottom, height in zip(low, heights, strict=True)]
    search = build.search_problem(problem, low, high)
    method = ALGORITHMS[name]()
    assert method.is_exact(search)
    assert_found(method.run(search), solve(problem, low, high))


@SLOW_START
@given(problem=any_problems())
def test_whoever_says_exact_finds_the_same(problem):
    search = build.search_problem(problem)
    truth = depth_first(search)
    for load in ALGORITHMS.values():
        method = load()
        if not method.is_exact(search):
            continue
        found = method.run(search)
        assert (found is None) == (truth is None)
        if found is not None:
            # an infinite bound of an infinite loss included
            assert (found.levels, found.loss, found.lower_bound) == (truth.levels, truth.loss, truth.loss)
            assert found.suppressed_tuples.tolist() == truth.suppressed_tuples.tolist()
            assert found.optimal


@SLOW_START
@given(any_problems())
def test_depth_first_checks_the_whole_lattice(problem):
    search = build.search_problem(problem)
    truth = depth_first(search)
    if truth is not None:
        assert truth.checked == search.lattice.size


# k = 3 and no suppression. From (1, 1), where only the record with b1 is alone, (2, 1) is reached and fails for that
# record too; so the specialization (2, 0) of it is never a solution, and is only checked without prediction.
ONE_APART = {
    "records": [((a, b), {"s": "x"}) for a, b in [("a2", "b2"), ("a3", "b2"), ("a3", "b3"), ("a3", "b1")]],
    "hierarchies": [[(f"{a}{i}", f"{a}:{i // 2}", "*") for i in range(4)] for a in "ab"],
    "tree": [("x", "*")],
    "models": [{"model": "k-anonymity", "k": 3}],
    "limit": 0.0,
    "measure": "loss",
    "combine": "arithmetic-mean",
    "weights": [1.0, 1.0],
    "f": 0.5,
}


def test_prediction_saves_the_check_of_what_must_fail():
    search = build.search_problem(ONE_APART)
    found, slower = best_first(search), best_first(search, predicts=False)
    # (2, 2) is above the solution (1, 2): generalizing to it loses more
    assert (found.levels, found.checked) == ((1, 2), 7)
    assert (slower.levels, slower.checked) == ((1, 2), 8)


def ticking(seconds):
    """Give a clock that goes on by some seconds each time it is read."""
    ticks = itertools.count()
    return mock.patch("engine.search.nodes.node_search.time", SimpleNamespace(monotonic=lambda: seconds * next(ticks)))


def assert_sound(problem, found, best):
    """Compare a solution that need not be the best with the reference."""
    loss, suppressed = evaluate(problem, found.levels)
    assert found.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert found.suppressed == suppressed
    assert leading(found.lower_bound) <= leading(best.loss) * (1 + 1e-9) + 1e-12
    if found.optimal:
        assert found.levels == best.levels
        assert found.lower_bound == found.loss


@pytest.mark.parametrize("name", HERE)
@SLOW_START
@given(problem=any_problems(), steps=st.integers(1, 12))
def test_a_search_that_is_stopped_has_a_proven_bound(name, problem, steps):
    search = replace(build.search_problem(problem), time_limit=1.0)
    with ticking(1.0 / steps):
        found = ALGORITHMS[name]().run(search)
    if found is not None:
        assert_sound(problem, found, solve(problem))


@pytest.mark.parametrize("name", HERE)
def test_progress_says_what_is_known(name):
    said = []
    with ticking(1.5):
        found = ALGORITHMS[name]().run(build.search_problem(ONE_APART), said.append)
    keys = {"solutions", "information_loss", "lower_bound", "gap", "boxes", "open_boxes", "checked"}
    assert all(set(figures) == keys for figures in said)
    assert said[0]["checked"] < said[-1]["checked"] <= found.checked
    assert all(figures["lower_bound"] <= found.loss for figures in said)
    known = [figures["information_loss"] for figures in said if figures["information_loss"] is not None]
    assert known == sorted(known, reverse=True)
    assert min(known, default=math.inf) >= found.loss
