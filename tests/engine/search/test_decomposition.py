"""The bound by groups of attributes, against enumeration; and what a search says that was stopped at any moment."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.search.algorithms.optimal import optimal
from engine.search.boxes import decomposition
from engine.search.boxes.decomposition import Decomposition, cost_shares
from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.packed_opener import PackedOpener
from engine.search.check import Checker
from engine.utility.information_loss import leading
from tests.engine import build
from tests.engine.search.packed_walk import sized
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import solve

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(60))
NEAR = 1 + 1e-12
"""The twin computes with doubles."""


SERVED = sized(problems()) | sized(any_problems(measures=["loss", "precision", "height"]))


@contextmanager
def changed(**values):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(decomposition, name, value)
        yield


class Clock:
    """A clock that moves by one whenever somebody looks."""

    def __init__(self):
        self.now = 0

    def monotonic(self):
        self.now += 1
        return float(self.now)


def decomposed(search):
    """Give the bound of a problem's groups; None where its boxes are not in whole numbers."""
    checker, costs = Checker(search), search.evaluator.box_costs()
    if not PackedOpener.serves(search, checker, costs):
        return None
    lattice = search.lattice
    free = [a for a, (low, high) in enumerate(zip(lattice.low, lattice.high, strict=True)) if low < high]
    return Decomposition(PackedOpener(search, [checker], costs, Incumbent(0.0)), free, len(lattice.low))


def ranges(problem, data):
    """Draw the levels that are searched, often all."""
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    return low, [data.draw(st.sampled_from([x, height, height])) for x, height in zip(low, heights, strict=True)]


@MANY
@given(SERVED, st.data())
def test_no_solution_is_below_the_bound_of_groups_of_any_size(problem, data):
    low, high = ranges(problem, data)
    expected = solve(problem, low, high)
    assume(expected is not None)
    with changed(_SMALLEST=1, _STEP=1, _LARGEST=1.0):
        groups, bounds = decomposed(build.search_problem(problem, low, high)), []
        assume(groups is not None)
        while groups.fits(math.inf):
            groups.advance(math.inf)
            bounds.append(groups.bound)
    assert bounds == sorted(bounds)
    for bound in bounds:
        assert bound <= expected.loss * NEAR
    exact = problem["f"] >= 0.5 and set(problem.get("unseen") or ["error"]) == {"error"}
    if bounds and exact and all(x < y for x, y in zip(low, high, strict=True)):
        # the last groups are all attributes, each with a half of their costs
        assert bounds[-1] == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)


def test_groups_become_as_large_as_the_time_lasts():
    groups = decomposition.Decomposition(None, list(range(25)), 25)
    assert groups._next(0.0) is None
    assert groups._next(1.0) == decomposition._SMALLEST
    groups._size, groups._last, groups.seconds = 12, 4.0, 5.0
    # three groups of 12 and two of 16: of one attribute more, a group takes 1.9 times as long
    assert groups._next(5 + 2 * 4 / 3 * 1.9**4 + 0.1) == 16
    assert groups._next(5 + 2 * 4 / 3 * 1.9**4 - 0.1) == 15
    assert groups._next(5 + 1.0) is None
    groups._size = 20
    assert groups._next(math.inf) is None


@given(st.integers(1, 40), st.data())
def test_each_cost_is_shared_out_whole(number, data):
    attributes = number + data.draw(st.integers(0, 3))
    free = sorted(data.draw(st.permutations(range(attributes)))[:number])
    size = data.draw(st.integers(1, number))
    shares = cost_shares(free, attributes, size)
    assert (shares >= 0).all()
    assert shares.sum(axis=0).tolist() == [decomposition._WHOLE * (a in free) for a in range(attributes)]
    assert ((shares > 0).sum(axis=1) == size).all()
    # no attribute is in many more groups than another
    members = (shares[:, free] > 0).sum(axis=0)
    assert members.max() - members.min() <= 1


def test_groups_of_three_know_that_all_but_one_must_be_generalized():
    """64 different records of six bits, 32 to a class: one bit may be kept of six, and one of each group."""
    problem = {
        "records": [(tuple(f"{r >> a & 1}" for a in range(6)), {"s": "x"}) for r in range(64)],
        "hierarchies": [[("0", "*"), ("1", "*")]] * 6,
        "models": [{"model": "k-anonymity", "k": 32}],
        "limit": 0.0,
        "measure": "loss",
        "combine": "arithmetic-mean",
        "weights": [1.0] * 6,
        "f": 0.5,
    }
    search = build.search_problem(problem)
    with changed(_SMALLEST=3, _LARGEST=0.5, _COVERED=2):
        groups = decomposed(search)
        while groups.fits(math.inf):
            groups.advance(math.inf)
    assert groups.bound == pytest.approx(4 / 6, rel=1e-9)
    assert leading(optimal(search).loss) == pytest.approx(5 / 6)


@MANY
@given(SERVED | any_problems(), st.integers(0, 120), st.sampled_from([0.0, 0.125]), st.integers(1, 3))
def test_a_search_that_is_stopped_at_any_moment_has_a_bound_that_holds(problem, ticks, share, smallest):
    search = build.search_problem(problem)
    whole = optimal(search)
    clock = SimpleNamespace(monotonic=Clock().monotonic)
    with changed(_SMALLEST=smallest, _STEP=1, _LARGEST=1.0, time=clock), pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.boxes.course.time", clock)
        patch.setattr("engine.search.algorithms.optimal._DEPTH_FIRST", share)
        stopped = optimal(replace(search, time_limit=float(ticks)))
    if stopped is None:
        return
    assert whole is not None
    assert leading(stopped.lower_bound) <= leading(whole.loss) * NEAR <= leading(stopped.loss) * NEAR**2
    if stopped.optimal:
        assert (stopped.levels, stopped.loss) == (whole.levels, whole.loss)
