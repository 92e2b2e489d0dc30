"""Suppression of small classes alone, against full enumeration in plain Python: by every algorithm that says exact."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.search.algorithms.optimal import optimal
from engine.search.nodes.monotone import is_monotone
from engine.search.registry import ALGORITHMS, ASSUMING_MONOTONE
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.profiles import examples
from tests.reference.lattice import solve
from tests.reference.privacy import TABLE_WIDE

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(300))


@st.composite
def small_only(draw):
    """Draw a problem of class models, one of which demands a size, that may suppress something."""
    problem = draw(any_problems())
    different = [model for place, model in enumerate(problem["models"]) if model not in problem["models"][:place]]
    problem["models"] = [model for model in different if model["model"] not in TABLE_WIDE]
    if not any(model["model"] == "k-anonymity" for model in problem["models"]):
        problem["models"].append({"model": "k-anonymity", "k": draw(st.integers(2, 4))})
    limit = draw(st.sampled_from([0.1, 0.3, 0.6, 1.0]))
    return {**problem, "limit": limit, "small_only": True}


@SLOW_START
@given(problem=small_only())
def test_whoever_says_exact_finds_what_enumeration_finds(problem):
    search, expected = build.search_problem(problem), solve(problem)
    for load in ALGORITHMS.values():
        method = load()
        if not method.is_exact(search):
            continue
        found = method.run(search)
        assert (found is None) == (expected is None)
        if found is not None:
            assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)
            assert found.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
            assert found.optimal


@SLOW_START
@given(problem=small_only())
def test_no_suppressed_class_has_the_size_that_is_demanded(problem):
    search = build.search_problem(problem)
    found = optimal(search)
    assume(found is not None)
    classes = search.table.partition(found.levels)
    suppressed = classes.holding(found.suppressed_tuples) & ~classes.refused
    assert not (classes.counts[suppressed] >= max(model.minimum_class_size for model in search.models)).any()


# one class of six records with both values, and three of one record that join to a class of one value at level 1
NOT_MONOTONE = {
    "records": [(("a0",), {"s": "xy"[i % 2]}) for i in range(6)] + [((f"b{i}",), {"s": "x"}) for i in range(3)],
    "hierarchies": [[("a0", "a", "*"), *((f"b{i}", "b", "*") for i in range(3))]],
    "tree": [("x", "*"), ("y", "*")],
    "models": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2},
    ],
    "limit": 0.4,
    "measure": "loss",
    "combine": "arithmetic-mean",
    "weights": [1.0],
    "f": 0.5,
}


def test_small_classes_that_join_to_one_that_fails_rule_the_generalization_out():
    """Level 0 and level 2 are solutions, level 1 between them is none: the criterion is not monotone."""
    found = {
        level: optimal(build.search_problem({**NOT_MONOTONE, "small_only": True}, [level], [level]))
        for level in range(3)
    }
    assert [one is not None for one in found.values()] == [True, False, True]
    assert optimal(build.search_problem(NOT_MONOTONE, [1], [1])) is not None
    assert not is_monotone(build.search_problem({**NOT_MONOTONE, "measure": "height", "small_only": True}))


def test_those_that_assume_monotonicity_are_known_by_name():
    assert sorted(ASSUMING_MONOTONE) == sorted(
        name for name, load in ALGORITHMS.items() if load().is_exact is is_monotone
    )
