"""Hierarchies with many values that no record has: the same solutions, and nothing is kept for these values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.algorithms.optimal import optimal
from engine.search.boxes.packed_opener import PackedOpener
from engine.search.boxes.present_labels import PresentLabels
from engine.search.check import Checker
from tests.engine import build
from tests.engine.search.packed_walk import MANY, SERVED, sized
from tests.engine.strategies import any_problems
from tests.reference.lattice import solve

UNUSED = 30


def with_unused_values(problem, new):
    """Add values that no record has, with labels of other values at some levels and labels of their own at others."""
    hierarchies = []
    for rows in problem["hierarchies"]:
        first = rows[0]
        own = [tuple(f"{n}/{level}" for level in range(len(first))) for n in range(UNUSED)]
        # the root is that of all
        hierarchies.append(
            [*rows, *((*one[: 1 + new], *first[1 + new :])[: len(first) - 1] + first[-1:] for one in own)]
        )
    return {**problem, "hierarchies": hierarchies}


@MANY
@given(SERVED | sized(any_problems(measures=["loss", "precision", "height"])), st.integers(0, 2), st.data())
def test_values_that_no_record_has_change_no_solution_but_its_loss(problem, new, data):
    problem = with_unused_values(problem, new)
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    search = build.search_problem(problem, low, heights)
    found, expected = optimal(search), solve(problem, low, heights)
    assert (found is None) == (expected is None)
    if found is not None:
        assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)
        assert found.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)


@MANY
@given(SERVED, st.integers(0, 2))
def test_labels_are_those_of_records_in_the_order_of_the_hierarchy(problem, new):
    problem = with_unused_values(problem, new)
    search = build.search_problem(problem)
    present, trees = PresentLabels(search.table), search.table.hierarchies
    for a, tree in enumerate(trees):
        values = {values[a] for values, _ in problem["records"]}
        label_of = {row[0]: row for row in problem["hierarchies"][a] if row[0] in values}
        for level in range(tree.level_count):
            labels = [tree.labels[level][code] for code in present.labels(a, level)]
            assert set(labels) == {row[level] for row in label_of.values()}
            assert present.width(a, level) == len(labels)
            assert (np.diff(present.labels(a, level)) > 0).all()
            for above in range(level, tree.level_count):
                ups = [tree.labels[above][present.labels(a, above)[code]] for code in present.up(a, level, above)]
                assert {*zip(labels, ups, strict=True)} == {(row[level], row[above]) for row in label_of.values()}


def test_nothing_is_kept_for_a_value_that_no_record_has():
    problem = {
        "records": [(("a", "x"), {"s": "x"}), (("b", "y"), {"s": "x"}), (("a", "y"), {"s": "x"})],
        "hierarchies": [[("a", "*"), ("b", "*"), *((f"u{n}", "*") for n in range(500))], [("x", "*"), ("y", "*")]],
        "models": [{"model": "k-anonymity", "k": 2}],
        "limit": 0.0,
        "measure": "loss",
        "combine": "sum",
        "weights": [1.0, 1.0],
        "f": 0.5,
    }
    search = build.search_problem(problem)
    checker, costs = Checker(search), search.evaluator.box_costs()
    assert PackedOpener.serves(search, checker, costs)
    present = PresentLabels(search.table)
    assert [present.width(a, level) for a in range(2) for level in range(2)] == [2, 1, 2, 1]
    assert present.of_leaves(0, 0, 502).tolist() == [0, 1, *[0] * 500]
