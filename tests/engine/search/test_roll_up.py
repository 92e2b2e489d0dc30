"""Roll-up: the same from fewer rows, for every model and measure, in any order and however little memory there is."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.search.check import Checker
from engine.search.nodes.roll_up import RollUpChecker
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.profiles import examples

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(200))
MEMORY = st.sampled_from([0, 100, 300, 1 << 28])


def transformations(search):
    bounds = zip(search.lattice.low, search.lattice.high, strict=True)
    return list(itertools.product(*(range(low, high + 1) for low, high in bounds)))


def grouped(gid):
    """Return the classes as sets of rows: their numbers mean nothing."""
    return {frozenset(np.flatnonzero(gid == number).tolist()) for number in set(gid.tolist())}


@SLOW_START
@given(any_problems(), MEMORY, st.randoms(use_true_random=False))
def test_finds_what_the_checker_finds(problem, memory, order):
    search = build.search_problem(problem)
    checker, rolling = Checker(search), RollUpChecker(search, memory)
    nodes = transformations(search) * 2
    order.shuffle(nodes)
    for levels in nodes:
        expected, found = checker.check(levels), rolling.check(levels)
        assert found.levels == expected.levels
        assert found.rows.tolist() == expected.rows.tolist()
        assert (found.suppressed, found.loss) == (expected.suppressed, expected.loss)
        assert rolling.snapshots.bytes <= memory
    assert rolling.checked == checker.checked


@SLOW_START
@given(any_problems(), MEMORY, st.randoms(use_true_random=False))
def test_what_it_says_of_classes_is_true(problem, memory, order):
    search = build.search_problem(problem)
    checker, rolling = Checker(search), RollUpChecker(search, memory)
    nodes = transformations(search)
    order.shuffle(nodes)
    for levels in nodes:
        plain, rolled = search.table.partition(levels), rolling.partition(levels)
        assert grouped(rolled.gid) == grouped(plain.gid)
        member = [int(np.flatnonzero(rolled.gid == number)[0]) for number in range(rolled.size)]
        same = plain.gid[member]
        assert rolled.counts.tolist() == plain.counts[same].tolist()
        assert rolled.first.tolist() == plain.first[same].tolist()
        assert rolled.refused.tolist() == plain.refused[same].tolist()
        if search.table.population is not None:
            assert rolled.population.tolist() == plain.population[same].tolist()
        for name in search.table.sensitive:
            assert rolled.distinct(name).tolist() == plain.distinct(name)[same].tolist()
            assert values_by_class(rolled.histogram(name)) == [
                values_by_class(plain.histogram(name))[number] for number in same
            ]
        assert rolling.surely_suppressed(rolled)[1] == checker.surely_suppressed(plain)[1]


def values_by_class(histogram):
    parts = itertools.pairwise(histogram.offsets.tolist())
    return [list(zip(histogram.values[a:b].tolist(), histogram.counts[a:b].tolist(), strict=True)) for a, b in parts]


# 4 x 4 tuples; at (x, y) they make 4 / 2**x times 4 / 2**y classes
GRID = {
    "records": [((f"a{i}", f"b{j}"), {"s": "x"}) for i in range(4) for j in range(4)],
    "hierarchies": [[(f"{a}{i}", f"{a}:{i // 2}", "*") for i in range(4)] for a in "ab"],
    "tree": [("x", "*")],
    "models": [{"model": "k-anonymity", "k": 2}],
    "limit": 0.0,
    "measure": "loss",
    "combine": "arithmetic-mean",
    "weights": [1.0, 1.0],
    "f": 0.5,
}


def rows_read(rolling, *nodes):
    read = []
    for levels in nodes:
        before = rolling.snapshots.rows_read
        rolling.check(levels)
        read.append(rolling.snapshots.rows_read - before)
    return read


def test_takes_the_smallest_snapshot_below():
    rolling = RollUpChecker(build.search_problem(GRID))
    # (1, 1) is below (2, 2) and (1, 2), of the others only (0, 1) below (0, 2)
    assert rows_read(rolling, (1, 0), (0, 1), (1, 1), (2, 2), (1, 2), (0, 2)) == [16, 16, 8, 4, 4, 8]


def test_forgets_the_snapshot_unused_for_longest():
    search = build.search_problem(GRID)
    roomy = RollUpChecker(search)
    assert rows_read(roomy, (1, 0), (0, 1)) == [16, 16]
    rolling = RollUpChecker(search, roomy.snapshots.bytes)
    # (1, 0) is used again before the snapshot of (2, 0) needs room: that of (0, 1) goes
    assert rows_read(rolling, (1, 0), (0, 1), (1, 0), (2, 0), (1, 0), (0, 1)) == [16, 16, 8, 8, 8, 16]
