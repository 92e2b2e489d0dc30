"""Threads, memory, gap, warm start and interrupts of the default search: what they must not change."""

from __future__ import annotations

import threading
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import load_job
from engine.job.counting import count
from engine.job.problem import problem_of
from engine.lattice.space import Lattice
from engine.search.algorithms.optimal import optimal
from engine.search.problem import preference
from engine.tables.sources.source import open_data
from engine.utility.information_loss import leading
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.profiles import examples

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(150))


@pytest.fixture(autouse=True)
def _small_tables_have_threads(monkeypatch):
    monkeypatch.setattr("engine.search.algorithms.optimal._ROWS_OF_THREADS", 0)


def search_of(measure):
    """Return the search of a table of four distinct tuples."""
    flat = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
    document = {"name": "four", "unit": "record", "attributes": {"sex": flat, "ward": flat}, "suppression_limit": 0.1}
    privacy = [{"model": "k-anonymity", "k": 2}]
    job = load_job({**document, "privacy": privacy, "utility": {"measure": measure}})
    table = pa.table({"sex": ["f", "m"] * 4, "ward": ["1", "1", "2", "2"] * 2})
    return problem_of(job, count(job, open_data(table)).table)


def answer(solution):
    if solution is None:
        return None
    return solution.levels, solution.loss, solution.suppressed, solution.suppressed_tuples.tolist(), solution.optimal


@MANY
@given(any_problems(), st.integers(2, 4))
def test_threads_find_the_same(problem, threads):
    alone = build.search_problem(problem)
    assert answer(optimal(replace(alone, threads=threads))) == answer(optimal(alone))


def test_a_small_table_has_one_thread_unless_a_box_is_one_call(monkeypatch):
    begun = []

    def start(thread):
        begun.append(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(threading.Thread, "join", lambda _: None)
    packed, other = (search_of(measure) for measure in ("loss", "discernibility"))
    for problem, least, threads in ((packed, 5, 2), (other, 5, 0), (other, 4, 2)):
        begun.clear()
        monkeypatch.setattr("engine.search.algorithms.optimal._ROWS_OF_THREADS", least)
        assert answer(optimal(replace(problem, threads=3))) == answer(optimal(problem))
        assert len(begun) == threads


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
        patch.setattr("engine.search.algorithms.optimal.greedy", lambda *_: descents.append(1) or [])
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
    # a loss may be infinite, of which a gap of 1 leaves nothing
    least = 0.0 if gap == 1.0 else found * (1 - gap) * (1 - 1e-12)
    assert not found > 0 or bound >= least
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
