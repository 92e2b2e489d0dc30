"""A time limit ends a search in the middle of what it does, however many attributes a step of it looks at."""

from __future__ import annotations

import contextlib
import random
from types import SimpleNamespace
from unittest import mock

import pytest

from engine.search.algorithms.optimal import optimal
from engine.search.check import Checker
from engine.search.greedy import greedy
from engine.search.local_search import LocalSearch
from engine.search.nodes import flash_paths
from engine.search.registry import ALGORITHMS
from tests.engine import build
from tests.reference.lattice import evaluate

ATTRIBUTES = 12
RECORDS = 40
RANDOM = random.Random(1)
MANY = {
    "records": [(tuple(f"{a}.{RANDOM.randrange(3)}" for a in range(ATTRIBUTES)), {"s": "x"}) for _ in range(RECORDS)],
    "hierarchies": [[(f"{a}.{value}", "*") for value in range(3)] for a in range(ATTRIBUTES)],
    "tree": [("x", "*")],
    "models": [{"model": "k-anonymity", "k": 2}],
    "limit": 0.5,
    "measure": "loss",
    "combine": "arithmetic-mean",
    "weights": [1.0] * ATTRIBUTES,
    "f": 0.5,
}
CHECKING = [name for name in ALGORITHMS if name != "incognito"]
"""Those that evaluate transformations by `Checker.check` alone."""


@contextlib.contextmanager
def clock_of(counted, method):
    """Let the time of all searches be the number of calls of a method; yield a function that tells it."""
    calls = 0
    original = getattr(counted, method)

    def counting(*arguments, **named):
        nonlocal calls
        calls += 1
        return original(*arguments, **named)

    clock = SimpleNamespace(monotonic=lambda: float(calls))
    with (
        mock.patch.object(counted, method, counting),
        mock.patch("engine.search.boxes.course.time", clock),
        mock.patch("engine.search.nodes.node_search.time", clock),
    ):
        yield lambda: calls


@pytest.mark.parametrize("limit", [1, 2, 7])
@pytest.mark.parametrize("name", CHECKING)
def test_no_transformation_is_checked_once_the_time_is_over(name, limit):
    search = build.search_problem(MANY, time_limit=float(limit))
    with clock_of(Checker, "check") as checks:
        found = ALGORITHMS[name]().run(search)
    # one that was begun is ended, and some look at the clock only when the limit is passed
    assert checks() <= limit + 2
    if found is not None:
        loss, suppressed = evaluate(MANY, found.levels)
        assert found.loss == pytest.approx(loss)
        assert found.suppressed == suppressed
        assert not found.optimal
        assert found.lower_bound < found.loss


def test_the_first_solution_stands_whatever_the_limit():
    with clock_of(Checker, "check"):
        found = optimal(build.search_problem(MANY, time_limit=0.5))
    assert found.levels == (1,) * ATTRIBUTES
    assert (found.loss, found.optimal) == (1.0, False)
    assert found.lower_bound == 0.0


def test_attributes_are_not_bounded_once_the_time_is_over():
    search = build.search_problem({**MANY, "measure": "ambiguity"})
    asked = mock.Mock(side_effect=[False, False, *[True] * 100])
    with mock.patch.object(type(search.evaluator), "bound", autospec=True, side_effect=[0.5, 0.25]) as bound:
        found = list(greedy(Checker(search), search, asked))
    assert bound.call_count == 2
    assert [one.levels for one in found] == [(1,) * ATTRIBUTES]


def test_each_solution_of_the_descent_is_better_than_the_one_before():
    search = build.search_problem(MANY)
    losses = [one.loss for one in greedy(Checker(search), search, lambda: False)]
    assert losses == sorted(set(losses), reverse=True)
    assert len(losses) > 2


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_an_interrupt_of_the_descent_leaves_its_best_and_claims_nothing_more(calls):
    search = build.search_problem(MANY)
    left = calls

    def interrupting(_):
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    with mock.patch("engine.search.boxes.course.PROGRESS_SECONDS", -1.0):
        found = optimal(search, interrupting)
    assert not found.optimal
    assert found.lower_bound < optimal(search).loss
    assert found.loss == pytest.approx(evaluate(MANY, found.levels)[0])


def test_an_interrupt_before_any_solution_ends_the_search():
    search = build.search_problem({**MANY, "models": [{"model": "k-anonymity", "k": RECORDS + 1}], "limit": 0.0})
    with (
        mock.patch.object(Checker, "check", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        optimal(search)


def test_a_local_search_ends_with_the_time():
    search = build.search_problem(MANY)
    checker = Checker(search)
    start = checker.check(search.lattice.high)
    checked = checker.checked
    over = LocalSearch(checker, search, lambda: True)
    assert over.improved(start, 1000) is start
    assert over.perturbed(start, 1000) is None
    assert checker.checked == checked
    assert LocalSearch(checker, search, lambda: False).improved(start, 1000).loss < start.loss


def test_neighbours_are_not_bounded_once_the_time_is_over():
    search = build.search_problem(MANY)
    checker = Checker(search)
    start = checker.check(search.lattice.high)
    with mock.patch.object(type(search.evaluator), "bound", autospec=True) as bound:
        LocalSearch(checker, search, lambda: True).improved(start, 1000)
    assert not bound.called


@pytest.mark.parametrize("name", ["flash", "flash-monotonic"])
def test_the_transformations_of_a_sum_are_not_gone_through_once_the_time_is_over(name):
    reached = 0
    original = flash_paths.at_sum

    def counting(lattice, total):
        nonlocal reached
        for levels in original(lattice, total):
            reached += 1
            yield levels

    clock = SimpleNamespace(monotonic=lambda: float(reached))
    with (
        mock.patch.object(flash_paths, "at_sum", counting),
        mock.patch("engine.search.nodes.node_search.time", clock),
    ):
        ALGORITHMS[name]().run(build.search_problem(MANY, time_limit=30.0))
    assert 30 < reached <= 32


def test_a_path_of_flash_ends_with_the_time():
    placed = 0
    place = flash_paths.Strategy.place

    def counting(self, levels):
        nonlocal placed
        placed += 1
        return place(self, levels)

    clock = SimpleNamespace(monotonic=lambda: float(placed))
    with (
        mock.patch.object(flash_paths.Strategy, "place", counting),
        mock.patch("engine.search.nodes.node_search.time", clock),
    ):
        ALGORITHMS["flash"]().run(build.search_problem(MANY, time_limit=5.0))
    # a path has all attributes' steps, and each looks at the generalizations of one transformation
    assert placed <= 5 + ATTRIBUTES + 1
