"""The search against full enumeration in plain Python, for every model and every measure.

It is called below the pipeline, on a frequency table: what comes after it has tests of its own.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.pipeline.report import Found, statement_of
from engine.search.algorithms.optimal import optimal
from engine.search.problem import preference
from engine.search.suppressed_class import Outcome
from engine.utility.information_loss import leading
from tests.engine import build
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import evaluate, solve
from tests.reference.privacy import TABLE_WIDE

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(150))
THOROUGH = settings(SLOW_START, max_examples=examples(400))


def assert_found(solution, expected):
    if expected is None:
        assert solution is None
        return
    assert solution.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
    assert solution.levels == expected.levels
    assert solution.suppressed == expected.suppressed
    assert solution.optimal is True
    assert solution.lower_bound == solution.loss or is_below_zero(solution)


def is_below_zero(solution):
    """Whether a loss is below any bound: that of a divergence from values that may be any leaf and are none."""
    return leading(solution.loss) < 0


@THOROUGH
@given(problems())
def test_finds_what_enumeration_finds_where_models_are_monotone(problem):
    assert_found(optimal(build.search_problem(problem)), solve(problem))


@THOROUGH
@given(any_problems())
def test_finds_what_enumeration_finds_for_every_model_and_measure(problem):
    assert_found(optimal(build.search_problem(problem)), solve(problem))


@SLOW_START
@given(any_problems(), st.data())
def test_respects_level_limits(problem, data):
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.integers(0, height)) for height in heights]
    high = [data.draw(st.integers(bottom, height)) for bottom, height in zip(low, heights, strict=True)]
    found = optimal(build.search_problem(problem, low, high))
    assert_found(found, solve(problem, low, high))


@SLOW_START
@given(any_problems())
def test_order_of_records_does_not_matter(problem):
    # it decides among equally small classes where a model of the whole table suppresses some (definitions)
    assume(not any(model["model"] in TABLE_WIDE for model in problem["models"]))
    backwards = {**problem, "records": problem["records"][::-1]}
    forth, back = (optimal(build.search_problem(each)) for each in (problem, backwards))
    if forth is None:
        assert back is None
        return
    assert (forth.levels, forth.loss, forth.suppressed) == (back.levels, back.loss, back.suppressed)
    assert forth.suppressed_tuples.tolist() == back.suppressed_tuples.tolist()


@SLOW_START
@given(any_problems())
def test_an_interrupted_search_bounds_the_optimum(problem):
    optimum = solve(problem)
    solution = optimal(build.search_problem(problem, time_limit=1e-9))
    if solution is None:
        return
    assert leading(solution.lower_bound) <= leading(optimum.loss) * (1 + 1e-12) or leading(optimum.loss) < 0
    assert leading(solution.loss) >= leading(optimum.loss) * (1 - 1e-12) - 1e-12
    loss, suppressed = evaluate(problem, solution.levels)
    assert solution.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert solution.suppressed == suppressed


def test_equal_losses_go_to_the_lower_sum_then_the_smaller_vector():
    losses = [(0.5, (1, 1)), (0.5 + 1e-15, (0, 1)), (0.5, (1, 0)), (0.5 - 1e-9, (3, 3))]
    ordered = sorted(losses, key=lambda item: preference(*item))
    assert [levels for _, levels in ordered] == [(3, 3), (0, 1), (1, 0), (1, 1)]


TWO_ALIKE = {
    "records": [(("a0", "b0"), {"s": "x"}), (("a1", "b1"), {"s": "y"})],
    "hierarchies": [[("a0", "A"), ("a1", "A")], [("b0", "B", "*"), ("b1", "B", "*")]],
    "tree": [("x", "*"), ("y", "*")],
    "models": [{"model": "k-anonymity", "k": 2}],
    "limit": 0.0,
    "measure": "kl-divergence",
    "combine": "arithmetic-mean",
    "weights": [1.0, 1.0],
    "f": 0.5,
}


def test_the_divergence_of_equally_generalized_records_goes_to_the_lowest_levels():
    # 1/2 against 1/4 at every level: log2(2) per record, times 1/2; (1, 1) is the lowest that makes one class
    found = optimal(build.search_problem(TWO_ALIKE))
    assert (found.levels, found.loss) == ((1, 1), 1.0)


@pytest.mark.parametrize(("f", "limit", "k", "levels"), [(0.0, 0.0, 2, (1, 1)), (1.0, 1.0, 3, (0, 0))])
def test_an_infinite_loss_is_a_solution_and_is_null_in_the_report(f, limit, k, levels):
    # nothing suppressed and classes that count nothing, or everything suppressed and suppression that counts nothing
    models = [{"model": "k-anonymity", "k": k}]
    problem = {**TWO_ALIKE, "measure": "average-class-size", "f": f, "limit": limit, "models": models}
    search = build.search_problem(problem)
    solution = optimal(search)
    assert (solution.levels, solution.loss, solution.lower_bound, solution.optimal) == (
        levels,
        math.inf,
        math.inf,
        True,
    )
    with tempfile.TemporaryDirectory() as folder:
        job = build.job(problem, Path(folder))
        form = "drop" if solution.suppressed else "none"
        outcome = Outcome(solution, solution.suppressed_tuples, solution.suppressed, form)
        report = statement_of(job, search.table, Found(outcome, 6, 0.0, 0.0))
    assert report["solution"]["information_loss"] is report["solution"]["lower_bound"] is None
    assert report["utility"]["average-class-size"] is None
    json.dumps(report, allow_nan=False)


def test_a_finite_loss_is_preferred_to_an_infinite_one():
    # with f = 0 classes count nothing and suppression counts one class, so that suppressing both records is finite
    problem = {**TWO_ALIKE, "measure": "average-class-size", "f": 0.0, "limit": 1.0}
    found = optimal(build.search_problem(problem))
    assert (found.levels, found.loss, found.suppressed) == ((0, 0), 2.0, 2)
