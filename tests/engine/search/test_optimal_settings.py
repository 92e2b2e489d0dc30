"""Threads, memory, gap, warm start and interrupts of the default search: what they must not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.lattice.space import Lattice
from engine.search.algorithms.optimal import optimal
from engine.search.problem import preference
from engine.utility.information_loss import leading
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.profiles import examples

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(150))


def answer(solution):
    if solution is None:
        return None
    return solution.levels, solution.loss, solution.suppressed, solution.suppressed_tuples.tolist(), solution.optimal


@MANY
@given(any_problems(), st.integers(2, 4))
def test_threads_find_the_same(problem, threads):
    alone = build.search_problem(problem)
    assert answer(optimal(replace(alone, threads=threads))) == answer(optimal(alone))


@MANY
@given(any_problems())
def test_boxes_whose_rows_were_let_go_of_find_the_same(problem):
    roomy = build.search_problem(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.algorithms.optimal._BOXES_BETWEEN_MEMORY_CHECKS", 1)
        tight = optimal(replace(roomy, memory=0))
    assert answer(tight) == answer(optimal(roomy))


@MANY
@given(any_problems(), st.integers(1, 3), st.sampled_from([None, 1000.0]))
def test_local_search_and_the_order_of_boxes_find_the_same(problem, threads, limit):
    search = build.search_problem(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.algorithms.optimal._FIRST_IMPROVEMENT", 1)
        patch.setattr("engine.search.algorithms.optimal._DEPTH_FIRST", 0.0)
        other = optimal(replace(search, threads=threads, time_limit=limit))
    assert answer(other) == answer(optimal(search))


@MANY
@given(any_problems(), st.data())
def test_a_start_does_not_change_the_answer(problem, data):
    cold = build.search_problem(problem)
    lattice = cold.lattice
    start = tuple(data.draw(st.integers(a, b)) for a, b in zip(lattice.low, lattice.high, strict=True))
    assert answer(optimal(replace(cold, start=start))) == answer(optimal(cold))


@MANY
@given(any_problems(), st.data())
def test_a_start_that_holds_takes_the_place_of_the_first_descent(problem, data):
    """Only a start that is no solution leaves it to the descent to find one; the answer is the same."""
    search = build.search_problem(problem)
    lattice = search.lattice
    start = tuple(data.draw(st.integers(a, b)) for a, b in zip(lattice.low, lattice.high, strict=True))
    holds = optimal(replace(search, lattice=Lattice(start, start))) is not None
    descents = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.algorithms.optimal.greedy", lambda *_: descents.append(1))
        found = optimal(replace(search, start=start))
    assert len(descents) == (0 if holds else 1)
    assert answer(found) == answer(optimal(search))


@MANY
@given(any_problems(), st.sampled_from([0.01, 0.2, 0.9, 1.0]))
def test_a_gap_is_kept_and_the_lower_bound_is_one(problem, gap):
    exact = build.search_problem(problem)
    best, near = optimal(exact), optimal(replace(exact, gap=gap))
    if best is None:
        assert near is None
        return
    optimum, found, bound = (leading(loss) for loss in (best.loss, near.loss, near.lower_bound))
    assert preference(near.loss, near.levels) >= preference(best.loss, best.levels)
    assert bound <= optimum * (1 + 1e-12)
    assert not found > 0 or bound >= found * (1 - gap) * (1 - 1e-12)
    if near.optimal:
        assert preference(near.loss, near.levels) == preference(best.loss, best.levels)


class Interrupting:
    """A progress that is called between two boxes and interrupts at one of them."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, _):
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt


@MANY
@given(any_problems(), st.integers(1, 5), st.integers(1, 2))
def test_an_interrupt_leaves_the_best_so_far_and_a_lower_bound(problem, calls, threads):
    whole = build.search_problem(problem)
    best = optimal(whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.boxes.course.PROGRESS_SECONDS", -1.0)
        cut = optimal(replace(whole, threads=threads), Interrupting(calls))
    if best is None or cut is None:
        return
    assert leading(cut.lower_bound) <= leading(best.loss) * (1 + 1e-12) or leading(best.loss) < 0
    assert preference(cut.loss, cut.levels) >= preference(best.loss, best.levels)
    if cut.optimal:
        assert answer(cut) == answer(best)
