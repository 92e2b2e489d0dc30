"""Local search: never worse than its start, and at its end no neighbour is better, by plain counting."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.search.check import Checker
from engine.search.local_search import LocalSearch
from engine.search.problem import preference
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.profiles import examples
from tests.reference.lattice import evaluate

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(60))
PLENTY = 10_000


def solutions(search, checker):
    """Give every solution of the lattice."""
    spans = [range(low, high + 1) for low, high in zip(search.lattice.low, search.lattice.high, strict=True)]
    found = [checker.check(levels) for levels in itertools.product(*spans)]
    return [one for one in found if one.loss is not None]


def rank(check):
    return preference(check.loss, check.levels)


def is_neighbour(levels, others):
    """Tell whether one attribute is a level higher or lower, or one is higher and another one lower."""
    steps = np.array(others) - np.array(levels)
    moved = steps[steps != 0]
    return set(moved.tolist()) <= {-1, 1} and (len(moved) == 1 or (len(moved) == 2 and moved.sum() == 0))


@MANY
@given(any_problems(), st.data())
def test_at_the_end_no_neighbour_is_better(problem, data):
    search = build.search_problem(problem)
    checker = Checker(search)
    every = solutions(search, checker)
    if not every:
        return
    start = data.draw(st.sampled_from(every))
    found = LocalSearch(checker, search, lambda: False).improved(start, PLENTY)
    assert rank(found) <= rank(start)
    loss, suppressed = evaluate(problem, found.levels)
    assert np.allclose(found.loss, loss, rtol=1e-9, atol=1e-12)
    assert found.suppressed == suppressed
    assert not any(rank(other) < rank(found) for other in every if is_neighbour(found.levels, other.levels))


class Counting(Checker):
    """A checker that counts its checks."""

    asked = 0

    def check(self, levels, classes=None):
        self.asked += 1
        return super().check(levels, classes)


@MANY
@given(any_problems(), st.integers(0, 12), st.integers(0, 1_000))
def test_it_checks_no_more_than_it_may(problem, most, seed):
    search = build.search_problem(problem)
    checker = Counting(search)
    every = solutions(search, checker)
    if not every:
        return
    local = LocalSearch(checker, search, lambda: False, seed)
    checker.asked = 0
    assert rank(local.improved(every[-1], most)) <= rank(every[-1])
    assert checker.asked <= most
    checker.asked = 0
    near = local.perturbed(every[0], most)
    assert checker.asked <= most
    assert near is None or near.levels in {one.levels for one in every}
